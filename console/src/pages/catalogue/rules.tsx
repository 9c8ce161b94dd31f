/** The rules of one API for its calls, as a form; a rule that can be off has a switch. The control plane checks them. */
import { useSignal } from '@preact/signals'
import { control } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { Api } from '../../api/types.ts'
import { Dialog, Field, Form, TextField } from '../../components/dialog.tsx'
import { Loaded } from '../../components/layout.tsx'
import {
  fieldName,
  RULES,
  type Rule,
  type RuleField,
  switchName,
  textOf,
  trafficOf,
  valuesOf,
} from './rule-fields.ts'

export function RulesDialog({
  api: { id, tenant_id, name },
  onClose,
  onSaved,
}: {
  readonly api: Api
  readonly onClose: () => void
  readonly onSaved: () => void
}) {
  const path = `tenants/${tenant_id}/apis/${id}`
  // the list may be older than what another administrator has saved
  const api = useResource(() => control<Api>(path), [id])
  const save = async (form: FormData): Promise<void> => {
    await control(path, { method: 'PATCH', body: { traffic: trafficOf(form) } })
    onSaved()
    onClose()
  }
  return (
    <Dialog title={`Rules of ${name}`} onClose={onClose} wide>
      <Loaded of={api}>
        {({ traffic }) => (
          <Form submit="Save rules" onSubmit={save}>
            {RULES.map(rule => (
              <RuleFields
                key={rule.title}
                rule={rule}
                values={valuesOf(traffic as Readonly<Record<string, unknown>> | null, rule)}
              />
            ))}
          </Form>
        )}
      </Loaded>
    </Dialog>
  )
}

function RuleFields({
  rule,
  values,
}: {
  readonly rule: Rule
  readonly values: Readonly<Record<string, unknown>> | undefined
}) {
  const { title, off, fields } = rule
  const on = useSignal(off === undefined || values !== undefined)
  return (
    <fieldset>
      <legend class="legend">{title}</legend>
      {off !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            name={switchName(rule)}
            checked={on.value}
            onChange={event => {
              on.value = event.currentTarget.checked
            }}
          />
          <span>
            {title}
            {!on.value && <span class="sub">Off: {off}.</span>}
          </span>
        </label>
      )}
      {on.value &&
        fields.map(field => (
          <RuleInput
            key={field.name}
            field={field}
            name={fieldName(rule, field.name)}
            value={values?.[field.name]}
          />
        ))}
    </fieldset>
  )
}

function RuleInput({
  field: { label, kind, hint, choices = [] },
  name,
  value,
}: {
  readonly field: RuleField
  readonly name: string
  readonly value: unknown
}) {
  if (kind === 'check')
    return (
      <label class="choice">
        <input type="checkbox" name={name} defaultChecked={value === true} />
        <span>
          {label}
          <span class="sub">{hint}</span>
        </span>
      </label>
    )
  if (kind === 'choice')
    return (
      <Field label={label} hint={hint}>
        {(id, hintId) => (
          <select id={id} name={name} aria-describedby={hintId} value={textOf(value, kind)}>
            {choices.map(word => (
              <option key={word} value={word}>
                {word}
              </option>
            ))}
          </select>
        )}
      </Field>
    )
  if (kind === 'headers' || kind === 'weights')
    return (
      <Field label={label} hint={hint}>
        {(id, hintId) => (
          <textarea
            id={id}
            name={name}
            rows={3}
            class="mono"
            spellcheck={false}
            aria-describedby={hintId}
            defaultValue={textOf(value, kind)}
          />
        )}
      </Field>
    )
  return (
    <TextField
      label={label}
      name={name}
      value={textOf(value, kind)}
      {...(kind === 'number' ? { type: 'number' as const } : {})}
      hint={hint}
    />
  )
}
