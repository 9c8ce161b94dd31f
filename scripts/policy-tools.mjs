/** Installs opa and regal, which build and check policies, into .tools/bin, unless they are there or opa is on the PATH. */
import { requireOpa } from '../src/shared/policy/workshop/opa.ts'
import { requireRegal } from '../src/shared/policy/workshop/regal.ts'

const dir = '.tools/bin'
const say = line => process.stderr.write(`${line}\n`)

await requireOpa(dir, process.env, say)
await requireRegal(dir, process.env, say)
