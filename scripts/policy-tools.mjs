/** Brings the programs that policies are built and tested with, opa and regal, into .tools/bin, where they are not there yet. */
import { requireOpa } from '../src/shared/policy/workshop/opa.ts'
import { requireRegal } from '../src/shared/policy/workshop/regal.ts'

const dir = '.tools/bin'
const say = line => process.stderr.write(`${line}\n`)

await requireOpa(dir, process.env, say)
await requireRegal(dir, process.env, say)
