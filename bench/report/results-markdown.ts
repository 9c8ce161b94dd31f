/** The report as Markdown: the table of targets, what explains the missed ones, what was not measured, every figure. */
import type { ResultLine } from '../record.ts'
import { boundText } from '../table.ts'
import type { Target } from '../targets.ts'
import { shown, shownRange } from '../units.ts'
import { counted, type JudgedBound, type JudgedRow } from './judge.ts'
import { commitText, type Run, runsOf } from './runs.ts'

export const WORDS: Record<JudgedRow['verdict'], string> = {
  stretch: 'met, stretch too',
  met: 'met',
  missed: '**missed**',
  unmeasured: 'not measured',
  noisy: 'no claim: the machine was not quiet',
}

export const GROUPS: readonly { readonly id: Target['group']; readonly title: string }[] = [
  { id: 'stages', title: 'Stages: one call, warm, in process' },
  { id: 'gateway', title: 'Whole gateway, all checks on' },
]

export function markdown(rows: readonly JudgedRow[], lines: readonly ResultLine[]): string {
  const runs = runsOf(lines)
  const { stretch, met, missed, unmeasured, noisy } = counted(rows)
  return `${[
    '# Results',
    'Written by `npm run bench:report`; edits are lost. How it is measured: `bench/README.md`. What is wanted: `bench/targets.json`.',
    `**${rows.length} targets: ${met + stretch} met (${stretch} of them with the stretch), ${missed} missed, ${unmeasured} not measured, ${noisy} without a claim because the machine was not quiet.**`,
    'Figures are medians of the repeats, with the smallest and largest; ratios are taken repeat by repeat with a reference of the same run.',
    ...GROUPS.flatMap(({ id, title }) => {
      const own = rows.filter(({ target }) => target.group === id)
      return own.length === 0 ? [] : [`## ${title}`, targetTable(own, runs)]
    }),
    '## Missed, and why',
    ...missedRows(rows),
    '## Not measured',
    ...unmeasuredRows(rows),
    '## Runs',
    runTable(runs),
    '## Every figure',
    figureTable(lines, runs),
  ].join('\n\n')}\n`
}

function targetTable(rows: readonly JudgedRow[], runs: ReadonlyMap<string, Run>): string {
  return table(
    [
      'What',
      'Median (min–max)',
      'Ratio (min–max)',
      'Target',
      'Verdict',
      'Specified',
      'Rival',
      'Floor of probes',
      'Run',
    ],
    rows.map(row => {
      const { target, line, bounds, verdict } = row
      return [
        target.what,
        line === undefined ? '–' : valueText(line),
        ratioTexts(row).join('<br>') || '–',
        bounds.map(({ bound }) => boundText(bound, target.unit, shortIn(target))).join('<br>'),
        WORDS[verdict],
        target.specified === undefined ? '–' : shown(target.specified, target.unit),
        target.rival ?? '–',
        target.floor ?? '–',
        line === undefined ? '–' : String(runs.get(line.run)!.number),
      ]
    }),
  )
}

export function valueText(line: ResultLine): string {
  const range = rangeText(line)
  return range === '' ? shown(line.median, line.unit) : `${shown(line.median, line.unit)} (${range})`
}

/** For the repeats; '' when all are equal. */
export function rangeText({ min, max, unit }: ResultLine): string {
  return min === max ? '' : shownRange(min, max, unit)
}

export function ratioText({ bound, figure }: JudgedBound, short = (id: string): string => id): string {
  if (figure === undefined) return `– × ${short(bound.of!)}`
  const { median, min, max } = figure
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)}) × ${short(bound.of!)}`
}

/** Those that a limit is set on; without one, that with the reference of its suite, for orientation. */
export function ratioTexts({ target, line, bounds }: JudgedRow): string[] {
  const short = shortIn(target)
  const limited = bounds.filter(({ bound }) => bound.on === 'ratio')
  if (limited.length > 0 || line?.reference === undefined) return limited.map(one => ratioText(one, short))
  const { case: of, ...figure } = line.reference
  return [ratioText({ bound: { on: 'ratio', of }, figure, verdict: undefined }, short)]
}

/** Names of references without the folder and suite that they share with the row's own case. */
export function shortIn(target: Target): (id: string) => string {
  const suite = target.case.split('/').slice(0, 2).join('/')
  return id => (id.startsWith(`${suite}/`) ? id.slice(suite.length + 1) : id)
}

function missedRows(rows: readonly JudgedRow[]): string[] {
  const missed = rows.filter(({ verdict }) => verdict === 'missed')
  if (missed.length === 0) return ['None.']
  return missed.map(({ target, line, bounds, explanation }) => {
    const broken = bounds.filter(({ verdict }) => verdict === 'missed')
    const text = broken.map(one => {
      const figure = one.bound.on === 'value' ? shown(line!.median, target.unit) : ratioText(one)
      return `${figure}, wanted ${boundText(one.bound, target.unit)}`
    })
    const why = explanation ?? `No explanation yet: \`bench/explanations.json\` has no \`${target.id}\`.`
    return `**${target.what}** (\`${target.id}\`): ${text.join('; ')}.  \n${why}`
  })
}

function unmeasuredRows(rows: readonly JudgedRow[]): string[] {
  const missing = rows.filter(({ verdict }) => verdict === 'unmeasured')
  if (missing.length === 0) return ['Nothing: every row has its figures.']
  return [
    missing
      .map(({ target, line, bounds }) => {
        const lacking = bounds.filter(({ figure }) => figure === undefined)
        const what = line === undefined ? [target.case] : lacking.map(({ bound }) => bound.of ?? target.case)
        return `- **${target.what}**: no line for \`${what.join('`, `')}\` (${target.metric}); \`${commandOf(target.case)}\` measures it.`
      })
      .join('\n'),
  ]
}

/** Which command brings a case's line. */
export function commandOf(caseId: string): string {
  if (caseId.startsWith('http/consoles/')) return 'npm run bench:consoles'
  return /^http\/(?!listener)/.test(caseId) ? 'npm run bench:http' : 'npm run bench:micro'
}

function runTable(runs: ReadonlyMap<string, Run>): string {
  const rows = [...runs.values()].map(run => {
    const { machine, versions } = run
    return [
      String(run.number),
      run.at.slice(0, 16).replace('T', ' '),
      commitText(run),
      `${versions.node} (V8 ${versions.v8})`,
      `${machine.cpu}, ${machine.cores} cores, ${(machine.memoryMiB / 1024).toFixed(0)} GiB`,
      machine.os,
    ]
  })
  return `${table(['Run', 'Began (UTC)', 'Commit', 'Node', 'Machine', 'System'], rows)}\n\nA star behind a commit: a committed file was changed.`
}

function figureTable(lines: readonly ResultLine[], runs: ReadonlyMap<string, Run>): string {
  const rows = lines.map(line => [
    `${line.suite}/${line.case}`,
    line.metric,
    valueText(line),
    line.reference === undefined ? '' : `${line.reference.median.toFixed(2)} × ${line.reference.case}`,
    String(runs.get(line.run)!.number),
  ])
  return table(['Case', 'Metric', 'Median (min–max)', 'Ratio', 'Run'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}
