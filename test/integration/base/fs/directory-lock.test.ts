/** The directory lock: one holder at a time, also across processes, and the lock of a dead holder is taken over. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../../src/base/fs/directory-lock.ts'

const SOURCE = new URL('../../../../src/base/fs/directory-lock.ts', import.meta.url).href
const BOOT = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

let parent: string
let directory: string
let file: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'toolgate-lock-'))
  directory = join(parent, 'db')
  file = `${directory}.lock`
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

function lock() {
  return lockDirectory(directory, { file, setting: 'DATA_DIR' })
}

/** Writes a lock or claim as another process would have left it. */
function leave(fields: object, ageMs = 0, path = file): void {
  const holder = { id: 'theirs', pid: 1, started: `${BOOT}/1`, host: hostname(), ...fields }
  leaveText(JSON.stringify(holder), ageMs, path)
}

function leaveText(text: string, ageMs: number, path = file): void {
  writeFileSync(path, text)
  const at = new Date(Date.now() - ageMs)
  utimesSync(path, at, at)
}

async function ended(child: ChildProcess): Promise<void> {
  await new Promise(resolve => child.once('exit', resolve))
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await ended(child)
  return child.pid!
}

describe('a directory lock', () => {
  it('is refused while its holder lives, naming directory, process and setting', () => {
    const held = lock()
    expect(lock).toThrow(
      new RegExp(
        `db is in use by process ${process.pid} on .*\\. Stop that process, or set DATA_DIR to another directory for this process`,
      ),
    )
    held.release()
  })

  it('can be taken after a release, which leaves no file', () => {
    const first = lock()
    first.release()
    first.release()
    expect(readdirSync(parent)).toEqual([])
    lock().release()
  })

  it('is not removed by a holder that lost it', () => {
    const held = lock()
    leave({ id: 'another' })
    held.release()
    expect(readFileSync(file, 'utf8')).toContain('another')
  })
})

describe('takeover', () => {
  it('succeeds when the holder was killed, not before', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const started = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]
    leave({ pid: child.pid, started: `${BOOT}/${started}` })
    expect(lock).toThrow(/in use by process/)
    const exit = ended(child)
    child.kill('SIGKILL')
    await exit
    lock().release()
    expect(readdirSync(parent)).toEqual([])
  })

  it.each([
    ['a later process', `${BOOT}/12345`],
    ['a process of a later boot', 'another-boot/12345'],
  ])('succeeds when the pid belongs to %s', (_, started) => {
    leave({ pid: process.pid, started })
    lock().release()
  })

  it('is refused when the start of the holder is unknown and its pid exists', () => {
    leave({ pid: process.pid, started: '' })
    expect(lock).toThrow(/in use by process/)
  })

  it.each([
    ['a holder on another host', JSON.stringify({ id: 'x', pid: 1, started: '', host: 'elsewhere' })],
    ['a file without a readable holder', '{"pid"'],
    ['a holder whose id is not a file name', JSON.stringify({ id: '../x', pid: 1, started: '', host: 'h' })],
  ])('of %s succeeds once the file has not been refreshed for 30 s', (_, text) => {
    leaveText(text, 20_000)
    expect(lock).toThrow(/in use by/)
    leaveText(text, 31_000)
    lock().release()
    expect(readdirSync(parent)).toEqual([])
  })

  it('is refused while another process performs it, and succeeds when that one died', async () => {
    const dead = await deadPid()
    leave({ id: 'first', pid: dead })
    leave({ id: 'second', pid: process.pid, started: '' }, 0, `${file}.claim.first`)
    expect(lock).toThrow(/in use by process/)
    leave({ id: 'second', pid: dead }, 0, `${file}.claim.first`)
    const held = lock()
    expect(readdirSync(parent)).toEqual(['db.lock'])
    expect(lock).toThrow(/in use by process/)
    held.release()
  })

  it('succeeds when a process died between its takeover and the removal of its claim', async () => {
    leave({ id: 'first', pid: await deadPid() })
    linkSync(file, `${file}.claim.zeroth`)
    lock().release()
    expect(existsSync(file)).toBe(false)
  })

  it('succeeds in exactly one of several processes that attempt it at once', async () => {
    const script = `const { lockDirectory } = await import(${JSON.stringify(SOURCE)})
      process.stdin.once('data', () => {
        try { lockDirectory(process.argv[1], { file: process.argv[2], setting: 'DATA_DIR' }); console.log('locked') }
        catch (error) { console.log(error.message.includes('in use by process') ? 'refused' : error.message) }
      })
      process.stdin.on('end', () => process.exit())
      console.log('ready')`
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, directory, file], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    )
    const lines = () =>
      Promise.all(
        children.map(
          child =>
            new Promise<string>(resolve => child.stdout.once('data', data => resolve(String(data).trim()))),
        ),
      )
    await lines()
    leave({ pid: await deadPid() })
    const results = lines()
    for (const child of children) child.stdin.write('go\n')
    expect((await results).sort()).toEqual(['locked', 'refused', 'refused', 'refused'])
    const exits = Promise.all(children.map(ended))
    for (const child of children) child.stdin.end()
    await exits
  })
})
