import { readFileSync } from 'node:fs'
import { CORPUS } from './corpus.ts'
import { corpusToolSet, roundTrips, STAND_IN } from './measure.ts'
import { runCompileJob } from '../../src/catalog/sync/compile-job.ts'
import { preparedTool } from '../fixtures/prepared-tool.ts'
import { ArgumentGenerator } from './generate-arguments.ts'
for (const spec of process.argv.slice(2)) {
  const [name, op] = spec.split('#')
  const bytes = readFileSync(`${CORPUS}/${name}`)
  const out = runCompileJob({ document: new Uint8Array(bytes), toolSet: { ...corpusToolSet(), baseURL: STAND_IN } } as never)
  if (out.kind !== 'compiled') { console.log(name, out); continue }
  const tools = out.result.tools.filter(t => t.operation === op)
  console.log('=====', spec, tools.length)
  for (const t of tools) {
    console.log('SCHEMA', JSON.stringify(t.inputSchema).slice(0, +(process.env.N ?? 1500)))
    const { validate, buildRequest } = preparedTool(t)
    for (let seed = 1; seed <= 8; seed++) {
      const args = new ArgumentGenerator(t.inputSchema, seed).generate()
      const f = validate(args)
      if (f.length) continue
      const r = buildRequest(args as never)
      console.log('ARGS', JSON.stringify(args).slice(0, 700)); console.log('REQ', JSON.stringify({...r, body: r.body && String(r.body).slice(0, 600)}).slice(0,1500)); break
    }
    console.log('TRIP', roundTrips(JSON.parse(bytes.toString()), [t], 1).reasons)
  }
}
