/** `npm run bench:report`: reads result lines, and writes `bench/RESULTS.md` and the page `bench/results/report.html`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readTargets } from '../targets.ts'
import { counted, judge, readExplanations } from './judge.ts'
import { page } from './page.ts'
import { lastOfRuns, newest, ofWholeRuns, readLines, resultFiles } from './read-results.ts'
import { refusalsOf } from './refusals.ts'
import { markdown } from './results-markdown.ts'

const path = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))
const HELP = `Usage: npm run bench:report -- [options] [FILE...]

Writes the report of result files (default: all of bench/results/).

  --markdown FILE  report as Markdown (default: bench/RESULTS.md)
  --html FILE      report as a page (default: bench/results/report.html)
  --help           prints this help

Exit code 1: the files contain no results of a whole run, or figures that cannot enter RESULTS.md: measured cold, or in a run that was stopped
before what they are compared with was measured. They are named and left out.
`
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    markdown: { type: 'string', default: path('RESULTS.md') },
    html: { type: 'string', default: path('results/report.html') },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) console.log(HELP)
else process.exitCode = report()

function report(): number {
  const files = positionals.length > 0 ? positionals : resultFiles(path('results'))
  const lines = readLines(files)
  // files that are named are wanted as they are, but not in RESULTS.md
  const asTheyAre = positionals.length > 0 && options.markdown !== path('RESULTS.md')
  const targets = readTargets()
  const candidates = asTheyAre ? lines : lastOfRuns(ofWholeRuns(lines))
  const refusals = asTheyAre ? [] : refusalsOf(candidates, targets)
  const refused = new Set(refusals.map(({ line }) => line))
  const results = newest(candidates.filter(line => !refused.has(line)))
  // what was measured again since then needs nothing
  const wanted = newest(candidates).lines.filter(line => refused.has(line))
  for (const { line, text } of refusals) if (wanted.includes(line)) console.error(text)
  if (results.lines.length === 0) {
    console.error(
      'no result lines of a whole run: measure first with npm run bench:micro, npm run bench:http or npm run bench. To report a filtered run, name its file and write elsewhere with --markdown FILE',
    )
    return 1
  }
  const rows = judge(targets, results, readExplanations())
  write(options.markdown, markdown(rows, results.lines))
  write(options.html, page(rows, results.lines))
  const { stretch, met, missed, unmeasured, noisy } = counted(rows)
  console.log(
    `${rows.length} targets: ${met + stretch} met (${stretch} with the stretch), ${missed} missed, ${unmeasured} not measured, ${noisy} without a claim; ${results.lines.length} figures of ${files.length} files, ${wanted.length} refused`,
  )
  return wanted.length === 0 ? 0 : 1
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(relative(process.cwd(), file))
}
