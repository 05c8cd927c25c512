module github.com/flotilla-sh/flotilla

go 1.26.0
