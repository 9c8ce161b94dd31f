/** The report as one page of HTML that asks for nothing else: no script, no font, no address. */
import type { ResultLine } from '../record.ts'
import { bars } from './bars.ts'
import { budgetTable } from './budget-table.ts'
import { counted, type JudgedRow } from './judge.ts'
import { latencyChart } from './latency-chart.ts'
import { commandOf, valueText } from './results-markdown.ts'
import { commitText, type Run, runsOf } from './runs.ts'
import { stackedBar } from './stacked-bar.ts'
import { STYLE } from './style.ts'
import { tag, text } from './svg.ts'

export function page(rows: readonly JudgedRow[], lines: readonly ResultLine[]): string {
  const runs = runsOf(lines)
  const body = [
    tag('h1', {}, 'Toolgate, measured'),
    tag('p', {}, [...runs.values()].map(runText).slice(-1).join('')),
    tiles(rows),
    section(
      'Targets',
      'Ratios are taken repeat by repeat with a reference of the same run: they hold on other machines, the times do not. The bar shows how much of a limit is used; right of its mark is over.',
      tag('div', { class: 'wide' }, budgetTable(rows)),
    ),
    latency(lines),
    capacity(lines),
    stagesOfACall(rows, lines),
    figures(lines, runs),
    tag(
      'footer',
      {},
      ...[...runs.values()].map(run => `${run.number}: ${runText(run)}<br>`),
      'A star behind a commit: a committed file was changed.',
    ),
  ]
  const head = [
    tag('meta', { charset: 'utf-8' }),
    tag('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    tag('meta', {
      'http-equiv': 'Content-Security-Policy',
      content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    }),
    tag('title', {}, 'Toolgate, measured'),
    tag('link', { rel: 'icon', href: 'data:,' }),
    tag('style', {}, STYLE),
  ].map(element => element.replace(/<\/(meta|link)>$/, ''))
  return `<!doctype html>\n${tag('html', { lang: 'en' }, tag('head', {}, ...head), tag('body', {}, ...body))}\n`
}

function runText(run: Run): string {
  const { cpu, cores, memoryMiB, os } = run.machine
  return text(
    `${run.at.slice(0, 16).replace('T', ' ')} UTC, commit ${commitText(run)}, node ${run.versions.node}, ${cpu}, ${cores} cores, ${(memoryMiB / 1024).toFixed(0)} GiB, ${os}`,
  )
}

function section(title: string, words: string, ...content: readonly string[]): string {
  return tag('section', {}, tag('h2', {}, text(title)), tag('p', {}, text(words)), ...content)
}

function tiles(rows: readonly JudgedRow[]): string {
  const { stretch, met, missed, unmeasured, noisy } = counted(rows)
  const tile = (count: number, words: string, kind: string): string =>
    tag('div', { class: kind }, tag('b', {}, String(count)), words)
  return tag(
    'div',
    { class: 'tiles' },
    tile(met + stretch, `of ${rows.length} targets met`, 'good'),
    tile(stretch, 'with the stretch', 'good'),
    tile(missed, 'missed', missed > 0 ? 'bad' : ''),
    tile(unmeasured, 'not measured', ''),
    tile(noisy, 'without a claim: not quiet', ''),
  )
}

const absent = (caseId: string): string =>
  tag('p', {}, text(`No lines yet: ${commandOf(caseId)} measures this.`))

/** Servers at equal rates and at equal utilization, by the share of the capacity. */
function latency(lines: readonly ResultLine[]): string {
  const curves = lines.filter(
    line => line.metric === 'latency' && Object.keys(line.percentiles ?? {}).length > 1,
  )
  const groups = new Map<string, ResultLine[]>()
  for (const line of curves) {
    const share =
      typeof line.setup?.share === 'number' ? ` at ${Math.round(line.setup.share * 100)} % of capacity` : ''
    const title = `${line.suite}${share}`
    groups.set(title, [...(groups.get(title) ?? []), line])
  }
  const charts = [...groups].map(([title, group]) =>
    latencyChart(
      title,
      group.map(line => ({
        name: line.suite !== 'http/load' ? line.case.replace(/\/\d+$/, '') : line.case,
        percentiles: line.percentiles!,
      })),
    ),
  )
  return section(
    'Latency',
    'Open loop: requests leave on time, independent of the responses, and waiting counts. Each step to the right is one response in ten of the step before.',
    charts.length === 0 ? absent('http/utilization') : tag('div', { class: 'pair' }, ...charts),
  )
}

function capacity(lines: readonly ResultLine[]): string {
  const all = lines
    .filter(line => line.suite === 'http/load' && line.metric === 'per-core')
    .map(line => ({ ...line, name: line.case, ours: line.case.startsWith('toolgate/') }))
    .sort((a, b) => b.median - a.median)
  return section(
    'Capacity',
    'Calls for one second of the server’s CPU time, ours beside bare servers and peers that do less; the line in a bar is the range of its repeats.',
    all.length === 0 ? absent('http/load') : bars('Calls per second of CPU', all, 'calls/CPU-s'),
  )
}

const STAGE = 'stage/'

function stagesOfACall(rows: readonly JudgedRow[], lines: readonly ResultLine[]): string {
  const stages = lines.filter(line => line.suite === 'stages/pipeline' && line.case.startsWith(STAGE))
  const bound = rows.find(({ target }) => target.id === 'pipeline/warm')?.target.bounds[0]
  const marks = [
    { name: 'target', value: bound?.max },
    { name: 'stretch', value: bound?.stretch },
  ].flatMap(({ name, value }) => (value === undefined ? [] : { name, value }))
  return section(
    'Where the time of a call goes',
    'Each stage of a warm call alone, in the order of the pipeline, the backend apart.',
    stages.length === 0
      ? absent('stages/pipeline')
      : stackedBar(
          'One warm call',
          stages.map(line => ({ name: line.case.slice(STAGE.length), value: line.median })),
          'ns',
          marks,
        ),
  )
}

function figures(lines: readonly ResultLine[], runs: ReadonlyMap<string, Run>): string {
  const head = ['Case', 'Metric', 'Median', 'Ratio', 'Run']
  const rows = lines.map(line =>
    tag(
      'tr',
      {},
      tag('th', { scope: 'row' }, text(`${line.suite}/${line.case}`)),
      tag('td', {}, text(line.metric)),
      tag('td', { class: 'figure' }, text(valueText(line))),
      tag(
        'td',
        {},
        line.reference ? text(`${line.reference.median.toFixed(2)} × ${line.reference.case}`) : '',
      ),
      tag('td', {}, String(runs.get(line.run)!.number)),
    ),
  )
  return tag(
    'details',
    {},
    tag('summary', {}, `Every figure (${lines.length})`),
    tag(
      'div',
      { class: 'wide' },
      tag(
        'table',
        {},
        tag('thead', {}, tag('tr', {}, ...head.map(name => tag('th', { scope: 'col' }, name)))),
        tag('tbody', {}, ...rows),
      ),
    ),
  )
}
