/** Twenty tasks on GitHub as an agent would do them: what it searches for in each step, the values it knows, and the request that the backend must receive. Plain data. */

export interface Step {
  /** What the agent searches for. */
  readonly find: string
  /** Values that it sets, beside those it knows. */
  readonly set?: { readonly [name: string]: unknown }
  readonly request: string
  /** Members that the body must have. */
  readonly body?: { readonly [name: string]: unknown }
  readonly response?: unknown
  /** Argument of later steps ← member of the response. */
  readonly keep?: { readonly [name: string]: string }
}

const REPO = '/repos/octo/app'
/** Known in every task. */
export const KNOWN = { owner: 'octo', repo: 'app', org: 'acme', username: 'ada' }

const openIssue: Step = {
  find: 'create an issue in a repository',
  set: { title: 'Crash at start' },
  request: `POST ${REPO}/issues`,
  body: { title: 'Crash at start' },
  response: { number: 42, id: 9 },
  keep: { issue_number: 'number' },
}
const openPull: Step = {
  find: 'create a pull request',
  set: { title: 'Fix', head: 'fix', base: 'main' },
  request: `POST ${REPO}/pulls`,
  body: { head: 'fix', base: 'main' },
  response: { number: 15 },
  keep: { pull_number: 'number' },
}

export const TASKS: { readonly [task: string]: readonly Step[] } = {
  'report a crash and label it': [
    openIssue,
    {
      find: 'add labels to an issue',
      set: { body: { labels: ['bug'] } },
      request: `POST ${REPO}/issues/42/labels`,
      body: { labels: ['bug'] },
    },
  ],
  'hand an issue to a colleague': [
    openIssue,
    {
      find: 'add assignees to an issue',
      set: { assignees: ['ada'] },
      request: `POST ${REPO}/issues/42/assignees`,
      body: { assignees: ['ada'] },
    },
  ],
  'reply to an issue and lock it': [
    openIssue,
    {
      find: 'comment on an issue',
      set: { body: 'Known, see #7' },
      request: `POST ${REPO}/issues/42/comments`,
      body: { body: 'Known, see #7' },
    },
    { find: 'lock the conversation of an issue', request: `PUT ${REPO}/issues/42/lock` },
  ],
  'close an issue': [
    {
      find: 'update an issue, close it',
      set: { issue_number: 7, state: 'closed' },
      request: `PATCH ${REPO}/issues/7`,
      body: { state: 'closed' },
    },
  ],
  'plan a milestone': [
    { find: 'list milestones of a repository', request: `GET ${REPO}/milestones`, response: [] },
    {
      find: 'create a milestone',
      set: { title: 'v2' },
      request: `POST ${REPO}/milestones`,
      body: { title: 'v2' },
    },
  ],
  'find open bugs': [
    {
      find: 'search issues and pull requests',
      set: { q: 'is:open label:bug' },
      request: 'GET /search/issues',
    },
  ],
  'open and merge a pull request': [
    openPull,
    {
      find: 'list the files of a pull request',
      request: `GET ${REPO}/pulls/15/files`,
      response: [{ filename: 'a.ts' }],
    },
    { find: 'merge a pull request', request: `PUT ${REPO}/pulls/15/merge` },
  ],
  'ask for a review': [
    openPull,
    {
      find: 'request reviewers for a pull request',
      set: { body: { reviewers: ['ada'] } },
      request: `POST ${REPO}/pulls/15/requested_reviewers`,
      body: { reviewers: ['ada'] },
    },
  ],
  'publish a release': [
    {
      find: 'generate release notes',
      set: { tag_name: 'v2.0' },
      request: `POST ${REPO}/releases/generate-notes`,
      body: { tag_name: 'v2.0' },
      response: { name: 'v2.0', body: 'Notes' },
      keep: { body: 'body' },
    },
    {
      find: 'create a release',
      set: { tag_name: 'v2.0' },
      request: `POST ${REPO}/releases`,
      body: { tag_name: 'v2.0', body: 'Notes' },
    },
  ],
  'repeat failed jobs': [
    {
      find: 'list workflow runs for a repository',
      request: `GET ${REPO}/actions/runs`,
      response: { id: 777 },
      keep: { run_id: 'id' },
    },
    {
      find: 're-run the failed jobs of a workflow run',
      request: `POST ${REPO}/actions/runs/777/rerun-failed-jobs`,
    },
  ],
  'start a deployment by hand': [
    {
      find: 'trigger a workflow dispatch event',
      set: { workflow_id: 'deploy.yml', ref: 'main' },
      request: `POST ${REPO}/actions/workflows/deploy.yml/dispatches`,
      body: { ref: 'main' },
    },
  ],
  'write a file': [
    {
      find: 'create or update the contents of a file',
      set: { path: 'notes/a.txt', message: 'docs', content: 'SGk=' },
      request: `PUT ${REPO}/contents/notes%2Fa.txt`,
      body: { content: 'SGk=' },
    },
  ],
  'branch off': [
    {
      find: 'get a git reference',
      set: { ref: 'heads/main' },
      request: `GET ${REPO}/git/ref/heads%2Fmain`,
      response: { sha: 'abc' },
      keep: { sha: 'sha' },
    },
    {
      find: 'create a git reference',
      set: { ref: 'refs/heads/fix' },
      request: `POST ${REPO}/git/refs`,
      body: { ref: 'refs/heads/fix', sha: 'abc' },
    },
  ],
  'invite a collaborator': [
    {
      find: 'add a collaborator to a repository',
      set: { permission: 'push' },
      request: `PUT ${REPO}/collaborators/ada`,
      body: { permission: 'push' },
    },
  ],
  'set up a webhook and test it': [
    {
      find: 'create a webhook for a repository',
      set: { config: { url: 'https://ci.test/hook' } },
      request: `POST ${REPO}/hooks`,
      body: { config: { url: 'https://ci.test/hook' } },
      response: { id: 5 },
      keep: { hook_id: 'id' },
    },
    { find: 'ping a repository webhook', request: `POST ${REPO}/hooks/5/pings` },
  ],
  'invite to the organization': [
    {
      find: 'create an organization invitation by email',
      set: { email: 'ada@example.com' },
      request: 'POST /orgs/acme/invitations',
      body: { email: 'ada@example.com' },
    },
  ],
  'create a repository for a team': [
    {
      find: 'create a repository in an organization',
      set: { name: 'infra', private: true },
      request: 'POST /orgs/acme/repos',
      body: { name: 'infra', private: true },
    },
    {
      find: 'create a team in an organization',
      set: { name: 'infra' },
      request: 'POST /orgs/acme/teams',
      body: { name: 'infra' },
    },
  ],
  'share a snippet': [
    {
      find: 'create a gist',
      set: { files: { 'a.txt': { content: 'hi' } } },
      request: 'POST /gists',
      body: { files: { 'a.txt': { content: 'hi' } } },
      response: { id: 'g1' },
      keep: { gist_id: 'id' },
    },
    { find: 'star a gist', request: 'PUT /gists/g1/star' },
  ],
  'dismiss an alert': [
    {
      find: 'update a Dependabot alert',
      set: { alert_number: 8, state: 'dismissed', dismissed_reason: 'tolerable_risk' },
      request: `PATCH ${REPO}/dependabot/alerts/8`,
      body: { state: 'dismissed' },
    },
  ],
  'clean up an old branch': [
    { find: 'list branches', request: `GET ${REPO}/branches`, response: [{ name: 'old' }] },
    {
      find: 'delete a git reference',
      set: { ref: 'heads/old' },
      request: `DELETE ${REPO}/git/refs/heads%2Fold`,
    },
  ],
}
