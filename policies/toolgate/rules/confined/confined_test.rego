package toolgate.rules.confined_test

import data.toolgate.rules.confined

test_every_confined_role_exists_and_brings_no_scope if {
	every role, _ in data.toolgate.confined { data.toolgate.roles[role] == [] }
}

test_every_granted_operation_exists_in_the_control_plane if {
	every grants in data.toolgate.confined {
		every action, extent in grants {
			startswith(action, "control.")
			data.toolgate.operations[action]
			extent in {"any", "own"}
		}
	}
}

test_what_the_role_grants if {
	confined.deny == set() with input as _asks("control.portal.list", ["subscriber"], {})
	confined.deny == set() with input as _asks("control.usage.read", ["subscriber"], {"own": true})
}

test_only_ones_own_is_granted if {
	_codes == {"confined_role"} with input as _asks("control.usage.read", ["subscriber"], {"own": false})
	_codes == {"confined_role"} with input as _asks("control.usage.read", ["subscriber"], {})
}

test_nothing_else_is_granted if {
	every action in [
		"control.apis.create", "control.apis.list",
		"control.webhooks.create", "control.subscriptions.approve",
	] {
		_codes == {"confined_role"} with input as _asks(action, ["subscriber"], {"own": true})
	}
}

test_an_unlisted_role_does_not_lift_the_confinement if {
	_codes == {"confined_role"} with input as _asks("control.apis.create", ["subscriber", "offline_access"], {})
}

test_another_role_lifts_the_confinement if {
	confined.deny == set() with input as _asks("control.apis.create", ["subscriber", "devops"], {})
}

test_callers_without_a_confined_role if {
	confined.deny == set() with input as _asks("control.apis.create", [], {})
	confined.deny == set() with input as {}
}

test_tools_are_not_the_control_plane if {
	confined.deny == set() with input as _asks("tools.call", ["subscriber"], {})
}

_codes contains reason.code if some reason in confined.deny

_asks(action, roles, properties) := {
	"subject": {"properties": {"roles": roles, "scopes": ["read", "write"]}},
	"action": {"name": action},
	"resource": {"properties": properties},
}
