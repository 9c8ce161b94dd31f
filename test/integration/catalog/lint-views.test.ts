/** The inspection of `toolgate toolset lint` for ToolViews: they are checked against the tool sets of their folder, as serve would serve them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { InspectionError, inspectFile } from '../../../src/catalog/inspect/inspect-file.ts'
import { inspectViews, viewLines } from '../../../src/catalog/inspect/inspect-views.ts'
import { reviewView } from '../../../src/data-plane/listing/view-review.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { runToolgate } from '../../fixtures/command.ts'
import { API_VERSION, inline, toolSetResource } from '../../unit/catalog/deployment.ts'

const root = mkdtempSync(join(tmpdir(), 'lint-views-'))
const egress = createEgress({ allow: [], allowLoopback: true })
const options = { apiGroup: 'toolgate.dev', variables: {}, egress, review: reviewView }
const view = (name: string, spec: object) => ({
  apiVersion: API_VERSION,
  kind: 'ToolView',
  metadata: { name, namespace: 'tenant-acme' },
  spec,
})
const path = (name: string) => join(root, name)

beforeAll(() => {
  mkdirSync(root, { recursive: true })
  writeFileSync(path('set.yaml'), stringify(toolSetResource('shop', inline('a', 'b', 'c'))))
  writeFileSync(path('good.yaml'), stringify(view('good', { select: { tools: ['a', 'b'] } })))
  const odd = { select: { tools: ['a', 'x*'], tags: ['none'] }, tools: [{ tool: 'b', name: 'a' }] }
  writeFileSync(path('odd.yaml'), stringify(view('odd', odd)))
  writeFileSync(path('taken.yaml'), stringify(view('shop', {})))
  writeFileSync(
    path('wrong.yaml'),
    stringify(view('wrong', { tokenBudget: 1, bindings: [{}], colour: 'red' })),
  )
})
afterAll(async () => {
  await egress.close()
  rmSync(root, { recursive: true, force: true })
})

it('reports tools and tokens of a view, and nothing to find', async () => {
  expect(await inspectFile(path('good.yaml'), options)).toEqual([])
  const [report] = await inspectViews(path('good.yaml'), options)
  expect(report).toMatchObject({ toolView: 'tenant-acme/good', tools: 2, findings: [], notices: [] })
  expect(viewLines(report!)).toEqual([
    `ToolView tenant-acme/good: tools: 2 (about ${report!.tokens} tokens), findings: 0`,
  ])
})

it('finds entries that match nothing', async () => {
  const [report] = await inspectViews(path('odd.yaml'), options)
  expect(report!.findings.map(({ message }) => message)).toEqual([
    'spec.select.tags "none" matches nothing: correct or remove the entry',
    'spec.select.tools "x*" matches nothing: correct or remove the entry',
  ])
})

it('finds a name that a tool set of the folder has', async () => {
  const [report] = await inspectViews(path('taken.yaml'), options)
  expect(report!.findings).toEqual([
    { rule: 'not-served', message: expect.stringContaining('ToolSet tenant-acme/shop') },
  ])
})

it('names field, reason and fix of what is invalid', async () => {
  const inspected = inspectFile(path('wrong.yaml'), options)
  await expect(inspected).rejects.toThrow(InspectionError)
  await expect(inspected).rejects.toThrow(/spec\.tokenBudget is below 1000/)
  await expect(inspected).rejects.toThrow(
    /spec\.bindings\[0\] names no caller: write consumer, role or tenant/,
  )
  await expect(inspected).rejects.toThrow(/spec\.colour is not a known field/)
})

describe('a path that cannot be read', () => {
  /** A folder with a ToolView that a tool of its ToolSet matches, and with one more path. */
  function folderWith(add: (path: (name: string) => string) => void): (name: string) => string {
    const folder = mkdtempSync(join(root, 'unreadable-'))
    const inFolder = (name: string) => join(folder, name)
    writeFileSync(inFolder('set.yaml'), stringify(toolSetResource('shop', inline('a', 'b'))))
    writeFileSync(inFolder('view.yaml'), stringify(view('good', { select: { tools: ['a'] } })))
    add(inFolder)
    return inFolder
  }
  const lint = (file: string) => runToolgate(['toolset', 'lint', file], {})
  // also refused to root, unlike a file without permissions
  const loop = (path: string) => symlinkSync(path, path)
  const document = { openAPISpec: { configMapRef: { name: 'docs', key: 'openapi.yaml' } } }

  it.each<[string, (path: (name: string) => string) => void, RegExp]>([
    ['a file', path => loop(path('other.yaml')), /other\.yaml cannot be read: ELOOP/],
    ['a folder', path => loop(path('folder')), /folder cannot be read: ELOOP/],
    [
      'a file that is not valid',
      path => writeFileSync(path('other.yaml'), '{'),
      /other\.yaml is not valid YAML/,
    ],
    [
      'a missing document of a ToolSet',
      path => writeFileSync(path('other.yaml'), stringify(toolSetResource('other', document))),
      /configmaps\/docs\/openapi\.yaml does not exist: create the file/,
    ],
    [
      'a document of a ToolSet',
      path => {
        mkdirSync(path('configmaps/docs'), { recursive: true })
        loop(path('configmaps/docs/openapi.yaml'))
        writeFileSync(path('other.yaml'), stringify(toolSetResource('other', document)))
      },
      /configmaps\/docs\/openapi\.yaml cannot be read: ELOOP/,
    ],
  ])('in the folder of a ToolView is an error with its reason and the fix: %s', async (_, add, reason) => {
    const path = folderWith(add)
    const { code, out, err } = await lint(path('view.yaml'))
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(reason)
    expect(err).toContain('Correct these files and their permissions, or move them to another folder.')
    // a file without ToolViews does not depend on its folder
    expect((await lint(path('set.yaml'))).err).toBe('')
  })

  it('and that no resource names is ignored in the folders of documents and secrets', async () => {
    const path = folderWith(inFolder => {
      mkdirSync(inFolder('secrets'))
      loop(inFolder('secrets/unused'))
    })
    expect(await lint(path('view.yaml'))).toMatchObject({ code: 0, err: '' })
  })

  it.each([
    ['missing.yaml', 'ENOENT'],
    ['loop.yaml', 'ELOOP'],
    // the reason is not its name
    ['loop.txt', 'ELOOP'],
    ['configmaps', 'EISDIR'],
  ])('is the file itself: %s', async (name, reason) => {
    const path = folderWith(inFolder => {
      if (name.startsWith('loop')) loop(inFolder(name))
      if (name === 'configmaps') mkdirSync(inFolder(name))
    })
    const { code, err } = await lint(path(name))
    expect(err).toContain(`${path(name)} cannot be read (${reason}). Check the path and its permissions.`)
    expect(code).toBe(1)
  })
})
