package toolgate.rules.operation_test

import data.toolgate.rules.operation

test_a_listed_operation_is_known if {
	operation.deny == set() with input.action.name as "tools.list"
}

test_an_operation_that_is_not_listed_is_denied if {
	_codes == {"unknown_operation"} with input.action.name as "tools.destroy"
}

test_no_operation_at_all_is_denied if {
	_codes == {"unknown_operation"} with input as {}
}

_codes contains reason.code if some reason in operation.deny
