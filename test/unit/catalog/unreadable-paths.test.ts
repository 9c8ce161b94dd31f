/** Folders and files of tool sets, and status files, that cannot be read for a time: what they held stays served, and the fault is reported. */
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StatusFiles } from '../../../src/catalog/directory/status-files.ts'
import { failingPromise } from '../../fixtures/failing-disk.ts'
import { Deployment, inline, toolSetResource, until } from './deployment.ts'

let deployment: Deployment
let end = () => {}
beforeEach(() => {
  deployment = new Deployment()
  deployment.write('team/shop.yaml', toolSetResource('shop', inline('listOrders')))
  deployment.write('other.yaml', toolSetResource('other', inline('ping')))
})
afterEach(async () => {
  end()
  await deployment.close()
})

const degraded = (name: string) =>
  deployment.status(name)?.conditions.find(({ type }) => type === 'Degraded')?.message ?? ''

describe('a path below the directory that cannot be read', () => {
  it.each([
    ['folder', 'readdir', 'EACCES', 'toolsets/team', 'shop'],
    ['file', 'stat', 'EIO', 'toolsets/other.yaml', 'other'],
    ['folder', 'stat', 'EIO', 'toolsets/team', 'shop'],
  ] as const)('keeps its tools, as a %s (%s: %s)', async (_, call, code, path, name) => {
    await deployment.start()
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    end = failingPromise(call, code, given => String(given).endsWith(path))
    deployment.write('third.yaml', toolSetResource('third', inline('later')))
    await until(() => deployment.names.includes('later'), 'the new tool set')
    expect(deployment.names).toEqual(['later', 'listOrders', 'ping'])
    await until(() => JSON.stringify(deployment.status(name)).includes(code), 'the fault in the status')
    end()
    await until(() => !JSON.stringify(deployment.status(name)).includes(code), 'the status without the fault')
    deployment.remove(path.replace('toolsets/', ''))
    await until(() => deployment.names.length === 2, 'the removal')
  })

  it('at the start is reported, and leaves the other tool sets and the status files as they are', async () => {
    await deployment.start()
    await deployment.stop()
    end = failingPromise('readdir', 'EACCES', given => String(given).endsWith('toolsets/team'))
    await deployment.start()
    expect(deployment.names).toEqual(['ping'])
    expect(deployment.logged.some(({ fields }) => JSON.stringify(fields).includes('EACCES'))).toBe(true)
    expect(deployment.status('shop')?.tools).toEqual(['listOrders'])
    end()
    await until(() => deployment.names.includes('listOrders'), 'the tools of the folder')
  })

  it('such as a link to itself does not keep the rest from being read', async () => {
    symlinkSync('loop', join(deployment.root, 'toolsets/loop'))
    await deployment.start()
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    expect(degraded('shop')).not.toContain('ELOOP')
    expect(deployment.logged.some(({ fields }) => JSON.stringify(fields).includes('ELOOP'))).toBe(true)
  })
})

it('a status folder that cannot be read counts as damaged, and nothing in it is deleted', async () => {
  await deployment.start()
  await deployment.stop()
  const damaged: string[] = []
  const data = join(deployment.root, 'data')
  const files = new StatusFiles(data, file => damaged.push(file))
  end = failingPromise('readdir', 'EIO', path => String(path).endsWith('tenant-acme'))
  expect([...(await files.servedFiles())]).toEqual([])
  expect(damaged).toEqual([join(data, 'status/tenant-acme')])
  await expect(files.keepOnly(new Set())).rejects.toThrow('EIO')
  expect(existsSync(join(data, 'status/tenant-acme/shop.yaml'))).toBe(true)
  end()
  end = failingPromise('readdir', 'EIO', path => String(path).endsWith('view-status'))
  await deployment.start()
  expect(deployment.names).toEqual(['listOrders', 'ping'])
  expect(deployment.logged.some(({ message }) => message.startsWith('the status files'))).toBe(true)
})
