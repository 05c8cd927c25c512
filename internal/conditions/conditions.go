// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Set puts a condition of the fleet group into the list and tells whether the list changed.
// lastTransitionTime moves only with status.
func Set(list *[]metav1.Condition, c metav1.Condition) bool { return meta.SetStatusCondition(list, c) }

// Find returns the condition of that type, or nil.
func Find(list []metav1.Condition, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(list, conditionType)
}

// IsTrue tells whether the condition of that type is there with status True.
func IsTrue(list []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(list, conditionType)
}

// FindCompat returns the apps-group condition of that type, or nil.
func FindCompat(list []appsv1beta1.Condition, conditionType string) *appsv1beta1.Condition {
	for i := range list {
		if list[i].Type == conditionType {
			return &list[i]
		}
	}
	return nil
}

// SetCompat puts a condition of the apps group into the list and tells whether the list changed.
// Equal status, reason and message change nothing. A new message alone keeps both times; a new
// reason alone keeps lastTransitionTime. A nil LastUpdateTime in c stays nil.
func SetCompat(list *[]appsv1beta1.Condition, c appsv1beta1.Condition, now metav1.Time) bool {
	old := FindCompat(*list, c.Type)
	if old == nil {
		c.LastTransitionTime = now
		*list = append(*list, c)
		return true
	}
	if old.Status == c.Status && old.Reason == c.Reason {
		if old.Message == c.Message {
			return false
		}
		old.Message = c.Message
		return true
	}
	c.LastTransitionTime = old.LastTransitionTime
	if old.Status != c.Status {
		c.LastTransitionTime = now
	}
	*old = c
	return true
}

// RemoveCompat takes the condition of that type out and tells whether it was there.
func RemoveCompat(list *[]appsv1beta1.Condition, conditionType string) bool {
	for i := range *list {
		if (*list)[i].Type == conditionType {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}
