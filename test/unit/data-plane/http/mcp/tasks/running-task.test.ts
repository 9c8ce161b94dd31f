/** A call that runs as a task: its questions, its end, and that a task cancelled before its call begins holds no listener. */
import { afterEach, describe, expect, it } from 'vitest'
import { Cancellation } from '../../../../../../src/base/cancellation.ts'
import { RunningTask } from '../../../../../../src/data-plane/http/mcp/tasks/running-task.ts'
import type { Inquiry } from '../../../../../../src/data-plane/pipeline/inquiry.ts'
import { MemorySessionStore } from '../../../../../../src/data-plane/sessions/memory/store.ts'
import { taskChannel } from '../../../../../../src/data-plane/sessions/session-store.ts'
import type { TaskRecord, TaskStatus } from '../../../../../../src/data-plane/sessions/task-store.ts'

const record: TaskRecord = {
  id: 'a',
  owner: 'ann',
  createdAtMs: 0,
  updatedAtMs: 0,
  ttlMs: 60_000,
  aliveUntilMs: 0,
  status: 'working',
}
const question = { method: 'elicitation/create', params: { message: 'Sure?' } } as const
const inquiry = { questions: { one: question, two: question } } as unknown as Inquiry

describe('a running task', () => {
  const sessions = new MemorySessionStore({
    keys: undefined as never,
    ttlMs: 60_000,
    maxSessions: 1,
    now: () => 0,
  })
  const cancellation = () => new Cancellation()
  const statuses: TaskStatus[] = []
  const open = async (cancelled = cancellation()): Promise<RunningTask> => {
    statuses.length = 0
    sessions.tasks.create(record, 10)
    const onStatus = ({ status }: TaskRecord): void => void statuses.push(status)
    return new RunningTask({
      record,
      sessions,
      cancellation: cancelled,
      now: () => 0,
      unstored: { status: 'failed', outcome: '"error":{}' },
      onStatus,
    })
  }
  const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 5))
  afterEach(() => sessions.close())

  it('that was cancelled before it began is cancelled, and holds nothing', async () => {
    const cancelled = cancellation()
    cancelled.cancel()
    const task = await open(cancelled)
    await settled()
    expect(sessions.tasks.get('ann', 'a')?.status).toBe('cancelled')
    task.finish({ status: 'completed', outcome: '"result":{}' })
    await settled()
    expect(statuses).toEqual(['cancelled'])
    expect(sessions.signal(taskChannel('a'), { kind: 'task_cancel' })).toBe(0)
  })

  it('whose result the store has no space for ends as failed, with the reason', async () => {
    const task = await open()
    task.finish({ status: 'completed', outcome: `"result":"${'x'.repeat(20 * 1024 * 1024)}"` })
    await expect
      .poll(() => sessions.tasks.get('ann', 'a'))
      .toMatchObject({ status: 'failed', outcome: '"error":{}' })
    expect(statuses).toEqual(['failed'])
  })

  it('waits until every question has a usable response', async () => {
    const task = await open()
    const answers = task.ask(inquiry)
    await settled()
    expect(Object.keys(sessions.tasks.get('ann', 'a')!.inputRequests!)).toEqual(['question-1', 'question-2'])
    const give = (responses: { [name: string]: unknown }) =>
      sessions.signal(taskChannel('a'), { kind: 'task_input', responses })
    give({ 'question-1': { action: 'accept', content: {} }, 'question-2': 7, unknown: {} })
    await settled()
    expect(Object.keys(sessions.tasks.get('ann', 'a')!.inputRequests!)).toEqual(['question-2'])
    give({ 'question-2': { action: 'accept', content: {} } })
    expect(Object.keys(await answers)).toEqual(['one', 'two'])
    task.finish({ status: 'completed', outcome: '"result":{"n":1.0}' })
    await settled()
    expect(sessions.tasks.get('ann', 'a')).toMatchObject({
      status: 'completed',
      outcome: '"result":{"n":1.0}',
    })
    expect(statuses).toEqual(['input_required', 'working', 'completed'])
  })
})
