package toolgate.rules.role_test

import data.toolgate.rules.role

test_an_operation_without_roles if {
	role.deny == set() with input as _asks("control.apis.create", "devops", {})
}

test_either_role_is_enough if {
	every name in ["tenant-admin", "cpi-admin"] {
		role.deny == set() with input as _asks("control.subscriptions.approve", name, {})
	}
}

test_another_role_is_denied if {
	role.deny == {{
		"code": "role_required",
		"message": "This needs the role tenant-admin or cpi-admin.",
	}} with input as _asks("control.subscriptions.approve", "devops", {})
}

test_ones_own_may_be_revoked_and_rotated_without_the_role if {
	every action in ["control.subscriptions.revoke", "control.apikeys.rotate", "control.apikeys.revoke"] {
		role.deny == set() with input as _asks(action, "devops", {"own": true})
		count(role.deny) == 1 with input as _asks(action, "devops", {"own": false})
		count(role.deny) == 1 with input as _asks(action, "devops", {})
	}
}

test_ones_own_may_not_be_approved_without_the_role if {
	count(role.deny) == 1 with input as _asks("control.subscriptions.approve", "devops", {"own": true})
}

_asks(action, name, properties) := {
	"subject": {"properties": {"roles": [name]}},
	"action": {"name": action},
	"resource": {"properties": properties},
}
