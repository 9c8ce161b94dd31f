/** One call: outcome and why, time of each stage, caller, arguments, and the way to repeat it. It shows only what the gateway recorded. */
import type { CallDetail } from '../../api/admin-types.ts'
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { FleetCalls } from '../../api/types.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/layout.tsx'
import { duration } from '../../components/numbers.ts'
import { Copyable, Facts, Json, Status } from '../../components/text.tsx'
import { href } from '../../state/router.ts'
import { KIND_TONES } from './live-calls.ts'

export function CallDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const detail = useResource(
    signal => gateway<CallDetail>(`admin/calls/${encodeURIComponent(id)}`, { signal }),
    [id],
  )
  return (
    <Dialog title="Call" onClose={onClose} wide>
      <Loaded of={detail}>{found => <Detail of={found} />}</Loaded>
    </Dialog>
  )
}

/** A call in the list of the fleet: the fields of its row, because stages and arguments stay at the gateway that recorded them. */
export function FleetCallDialog({
  call,
  onClose,
}: {
  readonly call: FleetCalls['calls'][number]
  readonly onClose: () => void
}) {
  return (
    <Dialog title="Call" onClose={onClose} wide>
      <Facts
        rows={[
          ['Gateway', call.gateway],
          [
            'Outcome',
            <Status
              tone={KIND_TONES[call.kind]}
            >{`${call.outcome.replaceAll('_', ' ')} (${call.status})`}</Status>,
          ],
          ['Tool', call.tool ?? call.requested_tool ?? '–'],
          ['Consumer', `${call.consumer ?? 'unknown'}${call.tenant === null ? '' : ` of ${call.tenant}`}`],
          ['Received', new Date(call.at).toLocaleString()],
          ['Duration', `${duration(call.duration_ms)}, backend ${duration(call.backend_ms)}`],
          ['Request id', <Copyable text={call.request_id} label="the request id" />],
          ['Trace id', <Copyable text={call.trace_id} label="the trace id" />],
        ]}
      />
      <p class="muted">
        To see the stages and arguments of this call, open the console of the gateway {call.gateway}.
      </p>
    </Dialog>
  )
}

function Detail({ of: found }: { readonly of: CallDetail }) {
  const { call, caller, refusal } = found
  return (
    <>
      <Facts
        rows={[
          [
            'Outcome',
            <Status
              tone={KIND_TONES[call.kind]}
            >{`${call.outcome.replaceAll('_', ' ')} (${call.status})`}</Status>,
          ],
          ['Tool', call.tool ?? call.requested_tool ?? '–'],
          ['Consumer', `${call.consumer ?? 'unknown'}${call.tenant === null ? '' : ` of ${call.tenant}`}`],
          ['Received', new Date(call.at).toLocaleString()],
          [
            'Duration',
            `${duration(call.duration_ms)}, backend ${call.cache_hit ? 'not called (cached)' : duration(call.backend_ms)}`,
          ],
          ['Transport', call.access],
          ['Scopes', caller === null ? '–' : caller.scopes.join(', ') || 'none'],
          ['Roles', caller === null ? '–' : caller.roles.join(', ') || 'none'],
          ['Client address', found.client_address ?? '–'],
          [
            'Policy',
            call.policy_revision === null ? 'no decision' : <code>{call.policy_revision.slice(0, 12)}</code>,
          ],
        ]}
      />
      {refusal !== null && (
        <div class="notice warn">
          <b>Why</b>
          <p>{refusal.message}</p>
          {refusal.reasons !== null && refusal.reasons.length > 0 && (
            <ul>
              {refusal.reasons.map(({ code, message }) => (
                <li key={code}>
                  <code>{code}</code> {message}
                </li>
              ))}
            </ul>
          )}
          {refusal.retry_after_secs !== null && <p>Retry the call after {refusal.retry_after_secs} s.</p>}
        </div>
      )}
      {found.stages !== null && found.stages.length > 0 && <Waterfall of={found} />}
      <h3>Arguments</h3>
      {found.arguments_state === 'recorded' || found.arguments_state === 'masked' ? (
        <Json value={found.arguments} label="Arguments" />
      ) : (
        <p class="muted">
          {found.arguments_state === 'too_large'
            ? 'The arguments are too large to be recorded.'
            : 'The arguments were not recorded.'}
        </p>
      )}
      <div class="actions">
        {call.tool !== null && (
          <a class="button primary" href={href('playground', { tool: call.tool, replay: call.id })}>
            Repeat the call in the playground
          </a>
        )}
        {call.decision_id !== null && (
          <a class="button" href={href('policy', { decision: call.decision_id })}>
            Explain the decision
          </a>
        )}
        {call.tool !== null && (
          <a class="button" href={href(`tools/${encodeURIComponent(call.tool)}`)}>
            Tool
          </a>
        )}
      </div>
      <Facts
        rows={[
          ['Request id', <Copyable text={call.request_id} label="the request id" />],
          ['Trace id', <Copyable text={call.trace_id} label="the trace id" />],
        ]}
      />
    </>
  )
}

function Waterfall({ of: { stages, call } }: { readonly of: CallDetail }) {
  const end = Math.max(call.duration_ms, ...stages!.map(({ start_ms, ms }) => start_ms + ms), 0.001)
  return (
    <div>
      <h3>Stages</h3>
      <ol class="waterfall">
        {stages!.map(({ stage, phase, start_ms, ms }) => (
          <li key={stage} title={phase}>
            <span class="cut">{stage}</span>
            <span class="track" aria-hidden="true">
              <span
                style={{ left: `${(start_ms / end) * 100}%`, width: `${Math.max(0.5, (ms / end) * 100)}%` }}
                class={phase}
              />
            </span>
            <span class="num">{duration(ms)}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
