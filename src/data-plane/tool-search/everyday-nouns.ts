/** Words of API documents, mostly nouns, with everyday words that people use for them. It computes nothing. */

/** Word of a document: words of people. It holds in this direction only: who writes the word of the document means it. */
export const NOUNS_SAID_FOR = `
    accessible: reachable visible
    account: profile seller merchant vendor tenant shop business
    action: automation
    activity: happening doing lately recently news
    address: street postcode residence ip home located
    admin: administrator owner boss
    alert: warning problem finding vulnerability vulnerable risk danger insecure weak dependency cve exposure leaked
    amount: total sum much value worth
    analysis: scan scanner analyzer analyser result
    annotation: remark hint
    app: integration bot plugin extension addon add-on
    application: oauth app program
    array: several multiple bulk batch
    artifact: output file binary result produced archive
    asset: file binary attachment download
    assignee: assigned responsible owner
    authorization: permission approval grant consent purchase swipe transaction approve
    autolink: ticket automatic jira
    badge: shield
    balance: left credit wallet remaining ledger
    bank: iban
    billing: spend usage pay consumption minute invoice cost spent
    blob: content binary object
    cache: cached caching
    calculation: compute calculate estimate
    capability: able feature activated eligible
    card: credit plastic sticky
    cardholder: holder employee hold staff colleague
    cash: prepaid
    category: kind type
    checkout: hosted basket
    child: sub subteam nested below children subordinate
    claim: subject audience
    code: source program programming sources
    codeowner: responsible
    codespace: devbox workspace ide vscode cloud
    collaborator: developer coworker colleague member access invite work freelancer contractor outsider
    column: lane stage
    comment: say said opinion wrote remark feedback
    commonly: common frequently popular usual
    community: guideline
    company: business firm
    conduct: behavior behaviour covenant etiquette behave
    configuration: option setup preset
    connection: pair pairing
    content: text body source raw directory
    context: hover popup
    contributor: developer author programmer
    conversion: exchange transform
    cost: expensive
    country: nation region land abroad
    coupon: voucher
    credential: password login
    credit: incoming received note correction
    currency: euro dollar money usd eur
    custom: own bespoke tailored special
    customer: consumer guest
    customization: customize customise personalize
    dashboard: console
    database: db
    debit: withdrawal pulled deducted taken
    delivery: sent call attempt attempts
    dependabot: dependency dependencies outdated
    dependency: library package
    deployment: rollout ship production live deploy
    descriptor: label
    details: info information everything
    device: terminal pos
    diff: difference changed differ
    discount: rebate reduction cheaper off
    discussion: conversation talk post thread
    dismissal: dismiss
    document: pdf paper
    domain: site hostname website url apple
    download: save
    email: mailbox
    emoji: smiley icon
    endpoint: url target callback receiver address
    enterprise: corporation
    entry: row record
    environment: staging production stage
    error: mistake problem invalid wrong
    event: happened
    evidence: proof receipt
    exchange: conversion convert
    external: outside third bank payout destination
    feature: function option
    fee: commission cost
    feed: rss atom
    file: upload pdf attachment
    financial: linked banking
    follower: fan
    following: follow
    fork: copy clone
    fraud: suspicious shady scam fake stolen risk
    frequency: often weekly
    fund: top cash balance
    gist: paste
    gitignore: ignore ignored
    gpg: pgp
    graph: sbom
    group: bundle set pool
    head: tip newest
    health: healthy wellbeing
    history: past earlier previous changed movement timeline before ago
    hovercard: popup tooltip hover
    identity: passport selfie kyc ident licence
    info: detail
    instruction: how
    intent: intended
    interaction: comment participate restrict
    inventory: available remain remaining
    invitation: guest invitee
    invoice: bill
    invoiceitem: charge fee
    issue: problem defect task todo complaint
    item: article position product content thing
    job: task step
    key: certificate encrypt
    label: category
    language: written programming
    latest: newest recent current last
    lfs: large
    license: legal terms licence licensing
    limit: left maximum throttle
    line: position row item items
    location: store branch shop
    log: output console trace
    machine: computer size hardware cpu ram core cores memory
    manager: responsible charge lead
    mandate: authorization sepa
    markdown: md
    member: people employee part invite hire
    membership: role joined part
    meta: about
    method: way card
    microdeposit: deposit
    migration: move export
    milestone: deadline goal sprint roadmap
    name: called
    network: fork
    note: memo reference correction
    notification: inbox message unread notice
    oidc: openid federation
    order: bought
    organization: firm
    owner: belong
    package: container image
    page: website site homepage
    participation: weekly
    path: page url
    payment: money paid charge transaction
    payout: paid
    pending: waiting wait open unaccepted outstanding unsubmitted yet joined
    people: shareholder
    permission: allowed policy write
    person: people human someone shareholder
    pet: animal dog cat
    phase: period
    pin: pinned
    ping: test alive reachable
    plan: subscription tier
    policy: rule
    popular: visited most top
    portal: self selfservice
    preference: prefer
    price: tariff charge month monthly
    primary: main
    product: thing merchandise
    profile: bio biography
    project: kanban
    promotion: promo campaign code redeem
    protection: rule
    public: everyone openly
    purchase: subscribe bought
    quantity: many count
    radar: fraud
    rate: percent percentage vat
    reaction: rocket smile laugh applaud clap
    reader: terminal device pinpad
    readme: introduction documentation
    reason: why
    ref: reference tag
    referrer: visitor source referring origin refer
    registration: register join
    repo: codebase
    repository: project codebase
    restriction: allow
    reversal: undo back send returned bounced clawback
    reviewer: approver
    revision: version
    role: admin position rank
    runner: server worker build executor host
    sale: revenue sold turnover
    sarif: static
    scanning: scanner
    scope: narrow touch
    secret: password encrypted api
    security: vulnerability safe
    self: own
    session: visit
    setting: policy
    settlement: settle
    shipping: delivery postage freight
    sigma: sql
    signature: signed sign
    sku: article
    snapshot: picture
    source: bank
    spec: supported support available
    stargazer: starred star fan
    stat: statistics number
    statement: summary
    statistics: stats number chart weekly
    stats: statistics weekly number line
    status: arrived through happen going stand state
    stock: available unit
    storage: disk space
    sub: subordinate
    subject: claim
    subscriber: watch watcher watching
    subscription: recurring monthly membership contract renew
    suite: collection
    tarball: tar archive
    tax: vat ein nif gst cnpj cpf
    team: crew squad department
    template: boilerplate blueprint pattern model
    terminal: pos device register checkout counter
    test: simulate simulation sandbox pretend fake try mock
    thread: conversation notification
    timeline: history
    timing: long duration
    token: password
    topic: subject keyword theme
    topup: top refill recharge
    traffic: visitor visit
    transaction: movement booking spent purchase spending payment bought book ledger entry entries
    tree: directory folder structure listing
    type: kind sort
    usage: used use consume consumed eat much consumption minute
    user: people someone who
    username: handle nickname nick
    value: entry content item
    variable: setting env
    verification: proof prove
    visibility: visible private public
    vulnerability: hole security weakness
    warning: alert
    webhook: callback notify whenever
    workflow: automation pipeline ci
    zen: wise wisdom proverb motto saying
    zipball: zip archive
`
