/** What a run of the tests came to: as a reporter of vitest it notes it, as a program it tells it in few lines. It runs no test. */
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

/** Records of a check may keep no more than 4,000 characters; the other steps need some of them. */
const ROOM = { lines: 60, characters: 3200 }
const LINE_CHARACTERS = 200
/** From so many files on it is no chance, whatever a second run says. */
const MAX_CHANCE_FILES = 3
const NO_FILE = 'no file'

/** `{ended, running: [file], files: {file: {passed, skipped, faults: [{name, message}]}}}`, written to `TEST_REPORT` as each file ends. */
export default class TestReport {
  report = { ended: false, running: [], files: {} }

  onTestModuleStart(module) {
    this.report.running.push(module.relativeModuleId)
  }

  onTestModuleEnd(module) {
    const file = module.relativeModuleId
    const tests = [...module.children.allTests()]
    const count = state => tests.filter(test => test.result().state === state).length
    this.report.running = this.report.running.filter(other => other !== file)
    this.report.files[file] = {
      passed: count('passed'),
      skipped: count('skipped'),
      faults: [
        ...faults('the file itself', module.errors()),
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
        this.fault(file, 'outside of its tests', told(error))
    }
    for (const { relativeModuleId: file } of stuck)
      this.fault(file, 'the file itself', 'it did not run to its end')
    this.report.ended = true
    this.write()
  }

  fault(file, name, message) {
    this.report.files[file] ??= { passed: 0, skipped: 0, faults: [] }
    this.report.files[file].faults.push({ name, message })
  }

  write() {
    if (process.env.TEST_REPORT) writeFileSync(process.env.TEST_REPORT, JSON.stringify(this.report))
  }
}

function faults(name, errors) {
  return errors.map(error => ({ name, message: told(error) }))
}

/** Its message, and the line of the test it came from. */
function told(error) {
  const message = stripVTControlCharacters(String(error.message ?? error)).trim()
  const at = /[^\s(]*\/(test\/\S+?:\d+)(?::\d+)?\)?$/m.exec(error.stack ?? '')
  return at === null ? message : `${message.split('\n').slice(0, 5).join('\n')}\nat ${at[1]}`
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // the run did not come so far
  }
}

const failing = report =>
  Object.keys(report?.files ?? {}).filter(file => report.files[file].faults.length > 0)

const cut = line => (line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS - 1)}…` : line)

const tail = (log, lines) =>
  stripVTControlCharacters(readFileSync(log, 'utf8')).trimEnd().split('\n').slice(-lines).map(cut)

/** The headings with the faults under them, with as much of the messages as there is room for. */
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
    const fits = lines.length <= ROOM.lines && lines.join('\n').length <= ROOM.characters
    if (fits) return lines
    if (messageLines > 0) continue
    let kept = lines.slice(0, ROOM.lines - 1)
    while (kept.join('\n').length > ROOM.characters) kept = kept.slice(0, -1)
    return [...kept, `… and ${lines.length - kept.length} more`]
  }
}

/** Prints the block and then the counts; false if the tests failed. */
function tell(log, code, first, second) {
  if (first === undefined) {
    console.log(tail(log, 40).join('\n'))
    console.log('0 passed, 1 failed')
    return false
  }
  const failed = failing(first)
  const again = file => second?.files[file]?.faults ?? first.files[file].faults
  const byChance = failed.filter(file => second?.ended && !second.files[NO_FILE] && again(file).length === 0)
  const few = failed.length <= MAX_CHANCE_FILES
  const inFile = (file, faults) => faults.map(fault => ({ file, ...fault }))
  const firstFaults = files => files.flatMap(file => inFile(file, first.files[file].faults))
  const twice = failed.filter(file => !byChance.includes(file))
  const lines = block([
    {
      heading: second ? 'failed twice:' : 'failed:',
      faults: twice.flatMap(file => inFile(file, again(file))),
    },
    { heading: 'passed only when run again alone (mend it):', faults: firstFaults(byChance) },
  ])
  const unexplained = code !== 0 && failed.length === 0
  if (!first.ended) lines.push(cut(`it did not come to its end; running: ${first.running.join(', ')}`))
  if (!first.ended || unexplained) lines.push(...tail(log, 20))

  const last = Object.keys(first.files).map(file => (few && second?.files[file]) || first.files[file])
  const sum = of => last.reduce((total, file) => total + of(file), 0)
  const faultsLeft = sum(file => file.faults.length) + (unexplained || !first.ended ? 1 : 0)
  const chances = few ? firstFaults(byChance).length : 0
  const skipped = sum(file => file.skipped)
  const passed = sum(file => file.passed)
  lines.push(
    [
      `${passed} passed, ${faultsLeft} failed`,
      ...(skipped > 0 ? [`${skipped} skipped`] : []),
      ...(chances > 0 ? [`${chances} passed only on the second run`] : []),
    ].join(', '),
  )
  console.log(lines.join('\n'))
  return faultsLeft === 0 && passed > 0
}

/** `files REPORT`: those with faults; `tell LOG EXIT-CODE REPORT [SECOND-REPORT]`: exits 1 if the tests failed. */
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [what, ...rest] = process.argv.slice(2)
  if (what === 'files') {
    for (const file of failing(read(rest[0]))) if (file !== NO_FILE) console.log(file)
  } else {
    const [log, code, first, second] = rest
    process.exitCode = tell(log, Number(code), read(first), second && read(second)) ? 0 : 1
  }
}
