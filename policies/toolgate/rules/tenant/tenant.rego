# METADATA
# title: Tenants
# description: |
#   A resource is for the callers of its tenant, or for all callers when it belongs to no tenant. A caller who
#   acts for another tenant (`X-Tenant-ID`, `cpi-admin` only) appears here as a caller of that tenant.
package toolgate.rules.tenant

import data.toolgate.granted

# METADATA
# title: Another tenant
# description: The resource belongs to a tenant for which the caller does not act. No scope would help.
# custom:
#   reason_code: other_tenant
deny contains {"code": code, "message": "This belongs to another tenant."} if {
	not _within_reach
	code := rego.metadata.rule().custom.reason_code
}

_within_reach if {
	input.resource.properties.tenant == null
} else if {
	input.resource.properties.tenant == input.subject.properties.tenant
} else if {
	granted.has_one_of(data.toolgate.operations[input.action.name].every_tenant)
}
