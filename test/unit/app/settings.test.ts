/** Settings read from the environment and from files that it names, and how all faults are reported at once. Other files here test single settings. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SettingsError } from '../../../src/app/settings.ts'
import { readSettings } from '../../fixtures/settings.ts'

function faultsOf(env: Record<string, string>): string[] {
  try {
    readSettings(env)
  } catch (error) {
    if (error instanceof SettingsError) return error.faults.map(fault => fault.name)
    throw error
  }
  return []
}

describe('settings', () => {
  it('has the documented defaults', () => {
    const settings = readSettings({})
    expect(settings.gateway).toEqual({ host: '127.0.0.1', port: 8080, url: undefined })
    expect(settings.auth.allowedAudiences).toEqual(['platform-mcp-gateway', 'account'])
    expect(settings.cors.maxAgeSecs).toBe(600)
    expect(settings.metrics.port).toBe(9464)
    expect(settings.nodeEnv).toBe('development')
  })

  it('reports every fault together, each with its name, reason and fix', () => {
    const env = { GATEWAY_PORT: '99999', LOG_LEVEL: 'loud', DRAIN_TIMEOUT: 'soon', GATEWAY_URL: 'nowhere' }
    expect(faultsOf(env).sort()).toEqual(['DRAIN_TIMEOUT', 'GATEWAY_PORT', 'GATEWAY_URL', 'LOG_LEVEL'])
    expect(() => readSettings(env)).toThrow(/GATEWAY_PORT is "99999"\. Use a whole number from 0 to 65535\./)
  })

  it('refuses in production what only development may have', () => {
    expect(
      faultsOf({ NODE_ENV: 'production', CORS_ORIGINS: '*', ALLOWED_AUDIENCES: '', TEST_HOOKS: '1' }).sort(),
    ).toEqual(['ALLOWED_AUDIENCES', 'API_URL', 'AUTH_ISSUER', 'CORS_ORIGINS', 'GATEWAY_URL', 'TEST_HOOKS'])
    expect(
      faultsOf({
        NODE_ENV: 'production',
        AUTH_ISSUER: 'https://id.example.com/realms/p',
        GATEWAY_URL: 'https://gw.example.com',
        API_URL: 'https://api.example.com',
      }),
    ).toEqual([])
  })

  it('asks of a gateway that runs apart where its control plane is and who it is, and of no one else', () => {
    expect(readSettings({})).toMatchObject({ role: 'all', controlPlane: undefined })
    expect(faultsOf({ ROLE: 'gateway', CONTROL_PLANE_URL: 'nowhere' }).sort()).toEqual([
      'AUTH_ISSUER',
      'CONTROL_PLANE_URL',
      'GATEWAY_CLIENT_ID',
      'GATEWAY_CLIENT_SECRET',
    ])
    const apart = {
      ROLE: 'gateway',
      CONTROL_PLANE_URL: 'http://control:8081/',
      AUTH_ISSUER: 'https://id.example.com/realms/p',
      GATEWAY_CLIENT_ID: 'edge',
      GATEWAY_CLIENT_SECRET: 'secret',
    }
    expect(readSettings(apart)).toMatchObject({
      role: 'gateway',
      controlPlane: { url: 'http://control:8081', clientId: 'edge', clientSecret: 'secret' },
    })
    expect(faultsOf({ CONTROL_PLANE_URL: 'http://control:8081' })).toEqual(['CONTROL_PLANE_URL'])
  })

  it('takes an empty ALLOWED_AUDIENCES as "no check" in development', () => {
    expect(readSettings({ ALLOWED_AUDIENCES: '' }).auth.allowedAudiences).toEqual([])
  })

  it('reads a value from the file that NAME_FILE names, and refuses both at once', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'settings-')), 'issuer')
    writeFileSync(file, 'https://id.example.com\n')
    expect(readSettings({ AUTH_ISSUER_FILE: file }).auth.issuer).toBe('https://id.example.com')
    expect(faultsOf({ AUTH_ISSUER_FILE: file, AUTH_ISSUER: 'https://other.example.com' })).toEqual([
      'AUTH_ISSUER',
    ])
    expect(faultsOf({ AUTH_ISSUER_FILE: `${file}-missing` })).toEqual(['AUTH_ISSUER_FILE'])
  })

  it('names the reason why the file of a setting cannot be read, with its fix', () => {
    const folder = mkdtempSync(join(tmpdir(), 'settings-'))
    const textOf = (file: string): string => {
      try {
        readSettings({ AUTH_ISSUER_FILE: file })
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(textOf(join(folder, 'missing'))).toContain(
      'AUTH_ISSUER_FILE names a file that cannot be read (ENOENT). Correct the path, or create the file.',
    )
    expect(textOf(folder)).toContain(
      'AUTH_ISSUER_FILE names a file that cannot be read (EISDIR). Name a file: this is a folder.',
    )
  })

  it('asks for POLICY_URL when the engine is opa-http', () => {
    expect(faultsOf({ POLICY_ENGINE: 'opa-http' })).toEqual(['POLICY_URL'])
  })
})
