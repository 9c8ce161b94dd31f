/** The actions that a request can ask for, and words that ask for them, mostly verbs. It computes nothing. */

export type Action = 'read' | 'create' | 'update' | 'delete'

export const VERBS: { readonly [action in Action]: string } = {
  read: `get list show find search page browse read look view see check fetch retrieve display open download count preview inspect tell explain
    describe draw query lookup print return name wonder know verify compare detail status state result info say grab
    information`,
  create: `create add new make register open start put publish define draft post insert set store write import upload submit invite
    give request generate build order issue begin launch send report book buy assign comment leave reply trigger save rerun retry repeat attach
    run execute resend redeliver restore render react sign subscribe simulate pretend simulat fake fork collect capture charge pay refund ask deploy applaud call
    transfer grant approve ship deliver confirm calculate test ping advance export produce raise bill record submit hand schedule
    invoke reverse undelete recover dispatch merge convert boot take let file propose draw reopen schedule serve link connect onboard notify tag transform install`,
  update: `update change edit modify rename set correct replace overwrite move fix adjust switch alter raise lower mark put turn
    enable let decide make allow restrict require lock assign store save give permit force only protect retitle shift push star follow block
    suspend accept add activate deactivate archive merge transfer rotate reset extend postpone close reopen approve dismiss hide finalize
    abort freeze unfreeze pause resume limit bar continue work link connect point aim narrow bring disable decline reject cancel confirm void reorder overrule ban mute ignore subscribe`,
  delete: `delete remove purge drop clear erase destroy withdraw revoke strip undo cancel lift rid uninstall unstar unfollow unlock
    kick throw exclude forbid deny stop take disable disconnect lose scrap bin trash discard unblock unsuspend deactivate end detach ditch
    unsubscribe dismiss wipe decline reject expel unshare hide abort unhook unlink unpublish dissolve free forget`,
}
