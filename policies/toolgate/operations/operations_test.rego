package toolgate.operations_test

_scopes contains scope if {
	some scopes in data.toolgate.roles
	some scope in scopes
}

_fields := {"all", "any", "shared", "roles", "own", "every_tenant"}

# What visitors without a token may do
_public := {"control.public.list", "control.public.read"}

_without_scope contains action if {
	some action, needs in data.toolgate.operations
	count(object.get(needs, "all", object.get(needs, "any", []))) == 0
}

test_every_operation_needs_a_scope_unless_it_is_public if _without_scope == _public

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
