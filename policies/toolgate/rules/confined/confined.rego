# METADATA
# title: Confined roles
# description: |
#   Some roles are for users who may do only a few operations (`confined/data.yaml`). In the control plane they
#   confine a caller who has no other role of `roles/data.yaml`, because the scopes of the token are those of the
#   application that the user works with, such as a portal.
package toolgate.rules.confined

import data.toolgate.granted

# METADATA
# title: Not granted by the confined role
# description: |
#   The caller has a confined role and no other role of `roles/data.yaml`. The confined role does not grant the
#   operation, or grants it only on resources of the caller's application. No scope would help.
# custom:
#   reason_code: confined_role
deny contains {"code": code, "message": message} if {
	startswith(input.action.name, "control.")
	not granted.by_confined_role
	not _has_other_role
	some role in input.subject.properties.roles
	data.toolgate.confined[role]
	code := rego.metadata.rule().custom.reason_code
	message := concat("", [
		"The role ",
		role,
		" does not allow this operation, or allows it only for the caller's application.",
	])
}

_has_other_role if {
	some role in input.subject.properties.roles
	data.toolgate.roles[role]
	not data.toolgate.confined[role]
}
