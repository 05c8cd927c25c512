[(.status.containerStatuses[]?, .status.initContainerStatuses[]?) | .state.waiting.message // "" | select(startswith("until ")) | .[6:]] | min
