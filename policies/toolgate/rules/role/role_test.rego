package toolgate.rules.role_test

import data.toolgate.rules.role

test_an_operation_without_roles if {
	role.deny == set() with input as _asks("control.apis.update", "devops", {})
}

test_either_role_is_enough if {
	every name in ["tenant-admin", "cpi-admin"] {
		role.deny == set() with input as _asks("control.subscriptions.approve", name, {})
	}
}

test_another_role_is_denied if {
	role.deny == {{
		"code": "role_required",
		"message": "The request needs the role tenant-admin or cpi-admin.",
	}} with input as _asks("control.subscriptions.approve", "devops", {})
}

test_ones_own_needs_no_role if {
	every action in [
		"control.subscriptions.create", "control.subscriptions.revoke",
		"control.apikeys.create", "control.apikeys.rotate", "control.apikeys.revoke",
	] {
		role.deny == set() with input as _asks(action, "devops", {"own": true})
		count(role.deny) == 1 with input as _asks(action, "devops", {"own": false})
		count(role.deny) == 1 with input as _asks(action, "devops", {})
	}
}

test_ones_own_may_not_be_approved_without_the_role if {
	count(role.deny) == 1 with input as _asks("control.subscriptions.approve", "devops", {"own": true})
}

test_plans_of_a_tenant_need_the_role if {
	every action in ["control.plans.create", "control.plans.update", "control.plans.delete"] {
		count(role.deny) == 1 with input as _asks(action, "devops", {"tenant": "acme", "own": true})
		role.deny == set() with input as _asks(action, "tenant-admin", {"tenant": "acme"})
	}
}

test_plans_of_no_tenant_need_a_scope_instead if {
	role.deny == set() with input as _asks("control.plans.create", "devops", {"tenant": null})
}

_asks(action, name, properties) := {
	"subject": {"properties": {"roles": [name]}},
	"action": {"name": action},
	"resource": {"properties": properties},
}
