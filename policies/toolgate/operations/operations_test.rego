package toolgate.operations_test

_scopes contains scope if {
	some scopes in data.toolgate.roles
	some scope in scopes
}

_fields := {"all", "any", "shared", "roles", "own", "every_tenant"}

test_every_operation_needs_a_scope if {
	every needs in data.toolgate.operations { count(object.get(needs, "all", object.get(needs, "any", []))) > 0 }
}

test_every_scope_is_brought_by_some_role if {
	every field in ["all", "any", "shared"] {
		every needs in data.toolgate.operations {
			every scope in object.get(needs, field, []) { scope in _scopes }
		}
	}
}

test_every_role_exists if {
	every needs in data.toolgate.operations {
		every role in object.get(needs, "roles", []) { data.toolgate.roles[role] }
	}
}

test_no_field_is_misspelt if {
	every needs in data.toolgate.operations { object.keys(needs) - _fields == set() }
}
