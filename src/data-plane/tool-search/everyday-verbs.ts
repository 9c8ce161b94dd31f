/** Words of API documents, mostly verbs and adjectives, with everyday words that people use for them. It computes nothing. */

/** Word of a document: words of people. */
export const VERBS_SAID_FOR = `
    accept: agree take join
    access: reach allowed permitted entry admission see
    add: hook join put grant enroll
    advance: forward ahead skip jump
    allow: whitelist
    apply: use
    approve: accept ok okay greenlight clear release waive pass
    archive: backup dump zip bundle deactivate tarball
    assign: responsible hand give
    associated: belonging related connected
    attach: connect link bind
    attempt: retry try tried
    authenticate: login
    authenticated: logged
    automated: automatic automatically
    block: mute spammer troll blacklist denylist
    cancel: undo
    capture: collect take charge claim secure reserved held hold
    charge: payment debit
    check: test ci lint
    clear: empty wipe flush
    clone: copy
    close: done resolve settle
    commit: change push signed author
    compare: difference diff differ between
    confirm: verify finalize
    create: build register draft
    decline: refuse
    default: standard preset normally otherwise
    delete: scrap bin trash discard wipe dump ditch scratch throw
    deliver: arrive arrived mail
    detach: disconnect unlink separate
    direct: straight
    disable: off forbid suppress
    disconnect: unlink sever
    dismiss: ignore reject overrule override
    dispute: contest complaint disagree
    draft: unfinished pending
    enforce: force apply
    ephemeral: temporary short-lived shortlived onetime
    expire: invalidate timeout end
    export: save backup
    fail: failure unsuccessful broken bounce problem
    finalize: finish complete close lock
    find: look
    flow: process
    follow: fan
    generate: make produce write automatically
    grant: permission consent approval
    hosted: own premises
    import: migrate bring
    inbound: incoming arrive arriving arrived received pull
    increment: increase raise higher
    install: added
    link: connected join share shareable
    linked: connected
    list: show every which
    login: signin dashboard
    mark: flag
    merge: join integrate sync original
    move: push reorder place position
    offer: quote
    outbound: outgoing send
    outside: external freelancer contractor outsider
    present: tap
    preview: simulate beforehand upcoming
    process: handle
    publish: release announce serve host
    pull: merge
    punch: hour clock
    push: upload
    quote: offer estimate proposal
    range: between
    record: measure meter metered log track
    redact: erase anonymize privacy
    redeliver: again
    refresh: reload
    refund: money reimburse reimbursement back
    register: sign enroll
    reject: refuse
    release: published ship changelog
    remove: take away strip off
    rename: call
    render: html
    replace: overwrite exchange swap
    reply: answer respond
    report: statement summary overview table spreadsheet csv
    request: ask
    required: mandatory must force forced enforce compulsory
    rerun: repeat
    reset: rotate renew
    restore: back revive
    resume: continue unpause
    return: bounce back
    reverse: undo back send
    review: approval approve inspect manual verdict
    revoke: invalidate
    run: build pipeline
    schedule: plan timetable calendar
    scheduled: planned regular recurring
    search: look containing mentioning
    selected: chosen certain specific particular individual
    send: mail
    setup: future later prepare
    share: shared
    ship: posted mailed sent
    specific: certain
    star: favorite favourite bookmark
    start: boot launch begin wake
    stop: halt shut pause
    submit: send hand off
    succeed: success successful
    supported: available
    suspend: freeze block
    transfer: wire send
    unblock: forgive unban
    uncollectible: unpaid lost debt bad
    unfollow: following
    unlock: release free
    unstar: unfavorite unfavourite unbookmark
    unsuspend: reinstate
    upcoming: next future
    update: set fix adjust alter
    upload: submit attach
    upstream: original parent sync
    verify: confirm prove
    view: visit visitor
    void: cancel invalid annul
`
