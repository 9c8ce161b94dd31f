/** Where tool sets come from, as TOOLSETS, KUBECONFIG, POD_NAMESPACE and POD_NAME say it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Reader } from '../../../../src/app/settings/reader.ts'
import { readToolSetSettings } from '../../../../src/app/settings/tool-sets.ts'

function faultsOf(env: Record<string, string>): string[] {
  const reader = new Reader(env)
  readToolSetSettings(reader, false)
  return reader.faults.map(fault => fault.name)
}

describe('tool-set settings', () => {
  it('name a directory', () => {
    expect(readToolSetSettings(new Reader({}), false)).toEqual({
      source: 'directory',
      directory: './toolsets',
    })
    expect(readToolSetSettings(new Reader({ TOOLSETS: '/etc/toolsets' }), false)).toMatchObject({
      directory: '/etc/toolsets',
    })
  })

  it('name a cluster, the namespace of the gateway and the instance', () => {
    const kubeconfig = join(mkdtempSync(join(tmpdir(), 'settings-')), 'config')
    writeFileSync(kubeconfig, '')
    const env = { TOOLSETS: 'kubernetes:', KUBECONFIG: kubeconfig }
    const given = { source: 'kubernetes', kubeconfig, namespace: 'toolgate', identity: hostname() }
    expect(readToolSetSettings(new Reader(env), false)).toEqual(given)
    expect(
      readToolSetSettings(new Reader({ ...env, POD_NAMESPACE: 'edge', POD_NAME: 'edge-1' }), false),
    ).toEqual({
      ...given,
      namespace: 'edge',
      identity: 'edge-1',
    })
    expect(faultsOf(env)).toEqual([])
  })

  it('are at fault outside of a pod without a kubeconfig, with one that is not there, and with more after the colon', () => {
    expect(faultsOf({ TOOLSETS: 'kubernetes:' })).toEqual(['TOOLSETS'])
    expect(faultsOf({ TOOLSETS: 'kubernetes:', KUBECONFIG: '/nowhere/config' })).toEqual(['KUBECONFIG'])
    expect(faultsOf({ TOOLSETS: 'kubernetes://cluster' })).toEqual(['TOOLSETS'])
  })
})
