/** Writes a rule and its test for an author to start from. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAME = /^[a-z][a-z0-9_]{0,63}$/
/** Words that a package path or a reference cannot have in Rego, and the roots of documents. */
const RESERVED = new Set(
  'as contains data default else every false if import in input not null package some true with'.split(' '),
)

/**
 * @param dir folder of the policies.
 * @returns the files written, relative to it.
 * @throws Error when the name cannot be one, or is taken, `dir` is not a folder of policies, or a file cannot be written.
 */
export function writeNewRule(dir: string, name: string): readonly string[] {
  if (!NAME.test(name))
    throw new Error(
      `"${name}" is not a valid rule name: use lower-case letters, digits and "_", and begin with a letter`,
    )
  if (RESERVED.has(name)) throw new Error(`"${name}" is a reserved word of Rego: use another name`)
  // the file of the rule would be taken for a test, and left out of the bundle
  if (name.endsWith('_test'))
    throw new Error(
      `"${name}" ends in "_test", which is reserved for test files and test packages: use another name`,
    )
  const folder = join('toolgate', 'rules', name)
  if (existsSync(join(dir, folder)))
    throw new Error(`the rule "${name}" already exists in ${folder}: use another name`)
  if (!existsSync(join(dir, 'toolgate')))
    throw new Error(
      `${dir} is not a policy folder, because it does not contain the folder "toolgate". Set --dir to the policy folder`,
    )
  mkdirSync(join(dir, folder), { recursive: true })
  const files = [
    [join(folder, `${name}.rego`), ruleOf(name)],
    [join(folder, `${name}_test.rego`), testOf(name)],
  ] as const
  for (const [path, text] of files) writeFileSync(join(dir, path), text, { flag: 'wx' })
  return files.map(([path]) => path)
}

function ruleOf(name: string): string {
  return `# METADATA
# title: ${name}
# description: What this rule is for, in one sentence.
package toolgate.rules.${name}

# METADATA
# title: What is wrong with the call, in a few words
# description: The tool may destroy something, and the caller does not have the role \`operator\`.
# custom:
#   reason_code: ${name}
deny contains {"code": code, "message": "The request needs the role operator."} if {
	input.action.name == "tools.call"
	input.resource.properties.annotations.destructiveHint
	not "operator" in input.subject.properties.roles
	code := rego.metadata.rule().custom.reason_code
}
`
}

function testOf(name: string): string {
  return `package toolgate.rules.${name}_test

import data.toolgate.rules.${name}

test_operators_may if {
	${name}.deny == set() with input as _destroys(["operator"])
}

test_others_may_not if {
	_codes == {"${name}"} with input as _destroys(["viewer"])
}

_codes contains reason.code if some reason in ${name}.deny

_destroys(roles) := {
	"subject": {"properties": {"roles": roles}},
	"action": {"name": "tools.call"},
	"resource": {"properties": {"annotations": {"destructiveHint": true}}},
}
`
}
