/** Words of everyday speech → the words with which API documents say the same: general words of software and trade, none of a certain API. It ranks nothing. */

/** Word of a document: words of people. It holds in this direction only: who writes the word of the document means it. */
export const SAID_FOR = `
    diff: difference changed differ
    snapshot: picture
    succeed: success successful
    scope: narrow touch
    reset: rotate renew
    refresh: reload
    unblock: forgive unban
    accept: agree take join
    access: reach allowed permitted entry admission see
    account: profile seller merchant vendor tenant
    action: automation
    activity: happening doing lately recently news
    add: hook join put grant enroll
    address: street postcode residence ip
    admin: administrator owner boss
    advance: forward ahead skip jump
    alert: warning problem finding vulnerability vulnerable risk danger insecure weak
    allow: whitelist
    amount: total sum much
    analysis: scan scanner analyzer analyser result
    annotation: remark hint
    app: integration bot plugin extension addon
    apply: use
    approve: accept ok okay greenlight clear
    archive: backup dump zip bundle deactivate tarball
    artifact: output file binary
    asset: file binary attachment download
    assign: responsible hand give
    assignee: assigned responsible owner
    attach: connect link bind
    attempt: retry
    authenticate: login
    authenticated: logged
    authorization: permission approval grant consent purchase
    balance: left credit wallet
    bank: iban
    billing: spend usage pay consumption minute
    block: mute spammer troll
    cancel: undo
    capability: able feature
    capture: collect take charge claim
    card: credit plastic sticky
    cardholder: holder employee hold
    charge: payment debit
    check: test ci lint
    clear: empty wipe flush
    clone: copy
    close: done resolve settle
    code: source program programming
    collaborator: developer coworker colleague member access invite work
    column: lane
    comment: say said opinion wrote
    commit: change push signed author
    company: business firm
    compare: difference diff differ between
    conduct: behavior behaviour
    configuration: option setup
    confirm: verify finalize
    content: text body source raw directory
    contributor: developer author programmer
    conversion: exchange transform
    cost: expensive
    country: nation region
    coupon: voucher
    create: build register draft
    credential: password login
    credit: incoming received
    currency: euro dollar money usd eur
    customer: consumer guest
    database: db
    debit: withdrawal pulled deducted taken
    decline: refuse
    delete: scrap bin trash discard wipe dump ditch scratch throw
    deliver: arrive arrived mail
    delivery: sent call
    dependency: library
    deployment: rollout ship production live deploy
    detach: disconnect unlink separate
    details: info information everything
    disable: off forbid suppress
    disconnect: unlink sever
    discount: rebate reduction cheaper off
    discussion: conversation talk post thread
    dismiss: ignore reject overrule override
    dispute: contest complaint disagree
    document: pdf paper
    domain: site hostname website url
    download: save
    draft: unfinished pending
    emoji: smiley icon
    endpoint: url target callback
    enforce: force apply
    entry: row record
    environment: staging production stage
    ephemeral: temporary
    error: mistake problem invalid wrong
    event: happened
    evidence: proof receipt
    exchange: conversion convert
    expire: invalidate timeout end
    export: save backup
    external: outside third bank
    fail: failure unsuccessful broken bounce problem
    feature: function option
    fee: commission cost
    file: upload pdf attachment
    finalize: finish complete close lock
    financial: linked
    find: look
    follow: fan
    follower: fan
    fork: copy clone
    fraud: suspicious shady scam fake stolen risk
    frequency: often weekly
    fund: top cash
    generate: make produce write automatically
    grant: permission consent approval
    group: bundle
    history: past earlier previous changed movement
    hosted: own
    import: migrate bring
    inbound: incoming
    increment: increase raise higher
    info: detail
    install: added
    interaction: comment participate
    inventory: available
    invitation: guest invitee
    invoiceitem: charge fee
    issue: problem defect task todo
    item: article position product content thing
    job: task step
    key: certificate encrypt
    label: category
    language: written programming
    latest: newest recent current last
    lfs: large
    license: legal terms
    limit: left maximum throttle
    line: position row
    link: connected join
    linked: connected
    list: show every
    location: store branch shop
    log: output console trace
    login: signin
    machine: computer size hardware
    manager: responsible charge lead
    mandate: authorization
    mark: flag
    member: people employee part invite hire
    membership: role joined part
    merge: join integrate sync original
    method: way card
    microdeposit: deposit
    migration: move export
    milestone: deadline goal sprint
    move: push reorder place position
    name: called
    network: fork
    note: memo reference
    notification: inbox message unread notice
    offer: quote
    order: bought
    organization: firm
    outbound: outgoing send
    outside: external
    owner: belong
    package: container image
    page: website site
    path: page url
    payment: money paid charge transaction
    payout: paid
    pending: waiting wait open unaccepted outstanding unsubmitted yet joined
    permission: allowed policy write
    person: people human someone
    pet: animal dog cat
    ping: test alive reachable
    plan: subscription tier
    policy: rule
    popular: visited most top
    portal: self
    preview: simulate beforehand
    price: tariff charge month monthly
    product: thing merchandise
    profile: bio
    project: kanban
    promotion: promo campaign code
    protection: rule
    public: everyone openly
    publish: release announce serve host
    pull: merge
    punch: hour clock
    push: upload
    quantity: many count
    quote: offer estimate proposal
    rate: percent percentage vat
    reaction: rocket smile laugh applaud clap
    reader: terminal device
    readme: introduction documentation
    record: measure meter metered
    redact: erase anonymize privacy
    ref: reference tag
    referrer: visitor source
    refund: money reimburse reimbursement back
    register: sign enroll
    registration: register join
    reject: refuse
    release: published ship changelog
    remove: take away strip off
    rename: call
    replace: overwrite exchange swap
    reply: answer respond
    report: statement summary overview
    repository: project codebase
    request: ask
    required: mandatory must force forced enforce compulsory
    rerun: repeat
    restore: back revive
    restriction: allow
    resume: continue unpause
    return: bounce back
    reversal: undo back send
    reverse: undo back send
    review: approval approve inspect
    reviewer: approver
    revision: version
    revoke: invalidate
    role: admin position rank
    run: build pipeline
    runner: server worker build
    sale: revenue sold turnover
    scanning: scanner
    schedule: plan timetable calendar
    scheduled: planned regular
    search: look containing mentioning
    secret: password encrypted
    security: vulnerability safe
    send: mail
    session: visit
    setting: policy
    settlement: settle
    setup: future later prepare
    ship: posted mailed sent
    shipping: delivery postage freight
    signature: signed sign
    star: favorite favourite bookmark
    stargazer: starred star fan
    start: boot launch begin wake
    stat: statistics number
    statistics: stats number chart weekly
    stats: statistics weekly number line
    status: arrived through happen going stand
    stock: available unit
    stop: halt shut pause
    storage: disk space
    submit: send hand off
    subscriber: watch watcher watching
    subscription: recurring monthly membership contract renew
    suspend: freeze block
    tarball: tar archive
    tax: vat
    team: crew
    template: boilerplate blueprint pattern model
    terminal: pos device register
    test: simulate simulation sandbox pretend fake try mock
    thread: conversation
    timeline: history
    timing: long duration
    token: password
    topic: subject keyword
    topup: top refill recharge
    transaction: movement booking spent purchase spending payment bought book
    transfer: wire send
    tree: directory folder
    type: kind sort
    uncollectible: unpaid lost
    unlock: release free
    upcoming: next future
    update: set fix adjust alter
    upload: submit attach
    upstream: original parent sync
    usage: used use consume consumed eat much consumption
    user: people someone who
    value: entry content
    variable: setting env
    verification: proof prove
    verify: confirm prove
    void: cancel invalid annul
    vulnerability: hole security weakness
    warning: alert
    webhook: callback notify whenever
    workflow: automation
    zipball: zip archive
`
