/** The result of a test run: as a reporter of vitest it records the result, as a program it prints it, the failed or the slowest files. */
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

/** The output of a whole check should stay below 4,000 characters; the other steps need some of them. */
const MAX_OUTPUT = { lines: 60, characters: 3200 }
const LINE_CHARACTERS = 200
const NO_FILE = 'no file'

/** `{ended, running: [file], files: {file: {passed, skipped, importMs, testsMs, faults: [{name, message}]}}}`, written to `TEST_REPORT` as each file ends. */
export default class TestReport {
  report = { ended: false, running: [], files: {} }

  onTestModuleStart(module) {
    this.report.running.push(module.relativeModuleId)
  }

  onTestModuleEnd(module) {
    const file = module.relativeModuleId
    const tests = [...module.children.allTests()]
    const { prepareDuration, environmentSetupDuration, collectDuration, duration } = module.diagnostic()
    const count = state => tests.filter(test => test.result().state === state).length
    this.report.running = this.report.running.filter(other => other !== file)
    this.report.files[file] = {
      passed: count('passed'),
      skipped: count('skipped'),
      importMs: Math.round(prepareDuration + environmentSetupDuration + collectDuration),
      testsMs: Math.round(duration),
      faults: [
        ...faults('an error while this file was loaded', module.errors()),
        ...[...module.children.allSuites()].flatMap(suite => faults(suite.fullName, suite.errors())),
        ...tests.flatMap(test => faults(test.fullName, (test.result().errors ?? []).slice(0, 1))),
      ],
    }
    this.write()
  }

  onTestRunEnd(modules, unhandled) {
    const stuck = modules.filter(module => ['pending', 'queued'].includes(module.state()))
    for (const error of unhandled) {
      const path = error.VITEST_TEST_PATH
      const files = path ? [relative(process.cwd(), path)] : stuck.map(module => module.relativeModuleId)
      for (const file of files.length > 0 ? files : [NO_FILE])
        this.fault(file, 'an error outside the tests of this file', describe(error))
    }
    for (const { relativeModuleId: file } of stuck)
      this.fault(file, 'an unfinished run', 'the tests in this file did not finish')
    this.report.ended = true
    this.write()
  }

  fault(file, name, message) {
    this.report.files[file] ??= { passed: 0, skipped: 0, importMs: 0, testsMs: 0, faults: [] }
    this.report.files[file].faults.push({ name, message })
  }

  write() {
    if (process.env.TEST_REPORT) writeFileSync(process.env.TEST_REPORT, JSON.stringify(this.report))
  }
}

function faults(name, errors) {
  return errors.map(error => ({ name, message: describe(error) }))
}

/** The message, and the line of the test that threw. */
function describe(error) {
  const message = stripVTControlCharacters(String(error.message ?? error)).trim()
  const at = /[^\s(]*\/(test\/\S+?:\d+)(?::\d+)?\)?$/m.exec(error.stack ?? '')
  return at === null ? message : `${message.split('\n').slice(0, 5).join('\n')}\nat ${at[1]}`
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // the run ended before the report was written
  }
}

const failing = report =>
  Object.keys(report?.files ?? {}).filter(file => report.files[file].faults.length > 0)

const cut = line => (line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS - 1)}…` : line)

const tail = (log, lines) =>
  stripVTControlCharacters(readFileSync(log, 'utf8')).trimEnd().split('\n').slice(-lines).map(cut)

/** The headings with the faults under them, with as much of the messages as fits. */
function block(headings) {
  for (const messageLines of [6, 3, 2, 1, 0]) {
    const lines = headings.flatMap(({ heading, faults }) =>
      faults.length === 0
        ? []
        : [
            heading,
            ...faults.flatMap(({ file, name, message }) => [
              cut(`${file} > ${name}`),
              ...message
                .split('\n')
                .slice(0, messageLines)
                .map(line => cut(`    ${line}`)),
            ]),
          ],
    )
    const fits = lines.length <= MAX_OUTPUT.lines && lines.join('\n').length <= MAX_OUTPUT.characters
    if (fits) return lines
    if (messageLines > 0) continue
    let kept = lines.slice(0, MAX_OUTPUT.lines - 1)
    while (kept.join('\n').length > MAX_OUTPUT.characters) kept = kept.slice(0, -1)
    return [...kept, `… and ${lines.length - kept.length} more`]
  }
}

/** Prints the block and then the counts of the first run; the second run only says which failures are flaky. @returns false if the tests failed */
function print(log, code, first, second) {
  if (first === undefined) {
    console.log(tail(log, 40).join('\n'))
    console.log('0 passed, 1 failed')
    return false
  }
  const failed = failing(first)
  const again = file => second?.files[file]?.faults ?? first.files[file].faults
  const flaky = failed.filter(file => second?.ended && !second.files[NO_FILE] && again(file).length === 0)
  const inFile = (file, faults) => faults.map(fault => ({ file, ...fault }))
  const failedTwice = failed.filter(file => !flaky.includes(file))
  const lines = block([
    {
      heading: second ? 'failed twice:' : 'failed:',
      faults: failedTwice.flatMap(file => inFile(file, again(file))),
    },
    {
      heading: 'flaky (the test failed, and passed when its file ran alone; fix the test or the code):',
      faults: flaky.flatMap(file => inFile(file, first.files[file].faults)),
    },
  ])
  const unexplained = code !== 0 && failed.length === 0
  if (!first.ended)
    lines.push(cut(`the test run did not finish; files still running: ${first.running.join(', ')}`))
  if (!first.ended || unexplained) lines.push(...tail(log, 20))

  const files = Object.values(first.files)
  const sum = of => files.reduce((total, file) => total + of(file), 0)
  const faultCount = sum(file => file.faults.length) + (unexplained || !first.ended ? 1 : 0)
  const skipped = sum(file => file.skipped)
  const passed = sum(file => file.passed)
  lines.push(`${passed} passed, ${faultCount} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  console.log(lines.join('\n'))
  return faultCount === 0 && passed > 0
}

/** The files in which a run spends most, by folder and one by one. */
function slowest({ files }) {
  const rows = Object.entries(files).map(([file, { importMs, testsMs }]) => ({ file, importMs, testsMs }))
  const folders = new Map()
  for (const row of rows) {
    const folder = row.file.split('/').slice(0, 2).join('/')
    folders.set(folder, [...(folders.get(folder) ?? []), row])
  }
  const sums = [...folders].map(([folder, of]) => ({
    file: `${folder} (${of.length} files)`,
    importMs: of.reduce((sum, row) => sum + row.importMs, 0),
    testsMs: of.reduce((sum, row) => sum + row.testsMs, 0),
  }))
  const line = ({ file, importMs, testsMs }) =>
    `${(importMs / 1000).toFixed(1).padStart(8)} s import ${(testsMs / 1000).toFixed(1).padStart(8)} s tests  ${file}`
  const byTime = (a, b) => b.importMs + b.testsMs - a.importMs - a.testsMs
  return [...sums.sort(byTime), ...rows.sort(byTime).slice(0, 40)].map(line)
}

/** `files REPORT` prints the files with faults; `slowest REPORT` where the time went; `print LOG EXIT-CODE REPORT [SECOND-REPORT]` exits 1 if the tests failed. */
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [what, ...rest] = process.argv.slice(2)
  if (what === 'files') {
    for (const file of failing(read(rest[0]))) if (file !== NO_FILE) console.log(file)
  } else if (what === 'slowest') {
    console.log(slowest(read(rest[0])).join('\n'))
  } else {
    const [log, code, first, second] = rest
    process.exitCode = print(log, Number(code), read(first), second && read(second)) ? 0 : 1
  }
}
