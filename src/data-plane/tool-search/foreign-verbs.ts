/**
 * English words of API documents, mostly verbs and adjectives, with German, French, Spanish and Portuguese words for them.
 * `translations.ts` reads the table.
 */

/** English word: its translations without accents. They are compared without endings (`rootOf` of `translations.ts`), so one form of each stem is enough. */
export const VERBS_IN_ENGLISH = `
    accept: akzeptiere akzeptieren annehmen accepte accepter acepta aceptar aceite aceitar
    accessible: zuganglich erreichbar accesible acessivel
    active: aktiv aktive actif actifs activa activas activo activos ativa ativas ativo ativos
    add: fuge hinzufugen erganze erganzen ajoute ajouter rajoute anade anadir agrega agregar adicione adicionar acrescente incluye inclua
    adjust: justiere ajuste ajuster ajusta ajustar
    advance: vorstellen voran avance avancer avanza adelanta avancar adiante
    allow: erlaube erlauben erlaubt zulassen zulasse gestatte darf durfen autorise autoriser permets permettre permis permite permitir autoriza autorizar permitido
    applied: angewendet applique aplicado aplicada
    apply: anwenden wende applique appliquer aplica aplicar aplique
    approve: genehmige genehmigen billige bestatige freigeben approuve approuver valide aprueba aprobar aprove aprovar
    archive: archiviere archivieren archiver archiva archivar arquive arquivar
    arrive: ankommen angekommen llega llego chega chegou
    assign: zuweisen weise ordne zuordnen zugewiesen assigne assigner attribue asigna asignar asignado asignados atribua atribuir atribuido atribuidos
    attach: anhange anhangen verknupfe verknupfen attache attacher rattache adjunta adjuntar vincula vincular vincule anexe anexar hange joins joindre
    automatic: automatisch automatique automatico
    available: verfugbar verfugbare vorhanden disponible disponibles disponivel disponiveis
    block: sperre sperren blockiere blockieren bloque bloquer bloquea bloquear bloqueie
    buy: kaufe kaufen gekauft achete acheter compra comprar compre comprou
    calculate: berechne berechnen calcule calculer calcula calcular
    cancel: storniere stornieren storno kundige kundigen abbrechen brich annule annuler resilie resilier cancela cancelar cancele anula anular anule
    capture: einziehen ziehe erfasse erfassen encaisse encaisser capturer captura capturar capture cobra cobrar cobre
    change: andere andern geandert wechsle change changer modifie modifier cambia cambiar altera alterar altere mude mudar
    charge: belaste debite cobra cobrar cobre
    check: prufe prufen uberprufe verifie verifier controle comprueba comprobar verifica verificar verifique cheque confira
    close: schliesse schliessen ferme fermer clos cierra cerrar feche fechar encerre
    collect: sammle kassiere percois recauda receba einziehen encaisse
    combined: kombiniert kombinierte combine combinado
    comment: kommentiere kommentieren commenter commentez commentons comentar comenta comente
    compare: vergleiche vergleichen compare comparer compara comparar
    confirm: bestatige bestatigen confirme confirmer confirma confirmar
    connect: verbinde verbinden connecte connecter relie conecta conectar conecte
    convert: verwandle transforme transformer transforma transformar convertir wandle umwandeln konvertiere convertis convierte converta converter
    count: zahlen conte
    create: erstelle erstellen erzeuge erzeugen lege anlegen cree creer crea crear crie criar
    current: aktuell aktuelle aktuellen derzeit gerade actuel actuelle actuels actuellement actual actuales atual atuais atualmente
    decline: ablehnen lehne abgelehnt verweigere decline decliner rechaza rechazar recuse recusar refuse
    decrease: senke senken reduis baisse reduce reduzca reduza
    default: standard voreingestellt defaut predeterminado padrao
    delete: losche loschen entferne entfernen vernichte supprime supprimer efface effacer elimina eliminar borra borrar suprime suprimir exclua excluir apague apagar delete deletar
    deliver: liefere liefern zugestellt livre livrer entrega entregar entregue entregado
    describe: beschreibe decris decrire describe descreva
    detach: lose losen detache detacher
    disable: deaktiviere deaktivieren abschalten schalte ausschalten desactive desactiver desactiva desactivar deshabilita desative desativar desabilite
    disconnect: trenne trennen deconnecte deconnecter desconecta desconectar desconecte desvincula
    dismiss: verwerfe verwerfen rejette descarta descartar descarte
    display: anzeigen zeige affiche muestra exiba
    dispute: reklamiere reklamieren beanstande conteste contester disputa disputar contestar
    download: herunterladen lade runterladen telecharge telecharger descarga descargar baixe baixar
    draft: entwurf entwurfe brouillon brouillons borrador borradores rascunho rascunhos
    edit: bearbeite bearbeiten edite editer edita editar
    enable: aktiviere aktivieren einschalten active activer activa activar habilita habilitar ative ativar habilite
    encrypt: verschlussele verschlusseln chiffre chiffrer cifra cifrar encripta criptografe criptografar
    exclude: ausschliessen exclus excluye
    execute: fuhre ausfuhren execute executer ejecuta ejecutar executar rode
    expire: ablaufen abgelaufen verfallen expire expirer caduca caducar expira expirar vence
    expired: abgelaufene abgelaufenen expiree expirees vencido vencida vencidos
    export: exportiere exportieren exporte exporter exporta exportar
    exposed: offengelegt expose exposes expuesto expuestos exposto expostos
    failed: echec fehlgeschlagen gescheitert misslungen echoue echoues echouees fallido fallidos fallidas fallo falharam falhou falhadas
    finalize: abschliessen schliesse finalise finaliser
    find: finde finden trouve trouver encuentra encontrar encontre ache
    finish: beende beenden fertig termine terminer termina terminar conclua concluir finaliza finalizar finalize
    fix: behebe korrigiere korrigieren corrige corriger corregir corrija
    follow: folge folgen folgt suivre sigue seguir sigo segue siga seguem folgst
    fork: forke abspalten forker bifurcar
    generate: generiere generieren erzeuge genere generer genera generar gere gerar
    get: hole holen zeige zeig zeigen gib liste obtiens obtenir recupere recuperer montre montrer affiche afficher donne obten obtener dame muestra mostrar muestrame mostra mostre obtenha pegue veja exiba
    grant: gewahre gewahren accorde accorder concede conceder otorga conceda
    happen: passiert passe pasa acontece
    hide: verstecke verberge ausblenden masque oculta ocultar esconde esconda
    ignore: ignoriere ignorer ignora ignorar
    import: importiere importieren importe importer importa importar
    increase: erhohe erhohen augmente augmenter aumenta aumentar aumente
    increment: erhohe
    installed: installiert installierten installe installes installees instalado instaladas instalados instalada
    invalidate: invalide invalider invalida invalidar
    invite: einladen lade eingeladen invite inviter invitas invitar invitado invitados convide convidar convidado convidados
    join: beitreten rejoins rejoindre unirse entre
    joined: beigetreten rejoint unido entrou
    kick: werfe schmeisse vire echa expulsa expulse
    last: letzte letzten letzter neueste neuesten dernier derniere derniers dernieres recent ultimo ultima ultimos ultimas reciente recientes recente recentes
    latest: zuletzt jungste recemment recientemente recentemente
    leave: verlasse verlassen quitte quitter abandona abandonar deixe austreten sors sal saia sair
    lift: aufheben hebe leve lever levanta levante
    linked: verknupft verknupfte verknupften verbundenen verbundene verbunden lie lies liee liees relie vinculada vinculado vinculadas vinculados associada associado conectada
    list: aufliste auflisten liste listet lister lista listar listame
    lock: sperre verriegle verrouille verrouiller bloquea tranque bloqueie
    make: mache machen mach fais faire haz hacer faca fazer
    map: zuordnung associe associer asocia
    mark: markiere markieren kennzeichne marque marquer marca marcar
    match: passt passen correspond correspondent coincide coinciden corresponde
    merge: zusammenfuhren verschmelze fusionne fusionner fusiona fusionar mescle mesclar
    move: verschiebe verschieben deplace deplacer mueve mover mova
    new: neue neuen neuer neues neu nouveau nouvelle nouveaux nouvelles nuevo nueva nuevos nuevas novo nova novos novas
    open: offne offnen offene offenen ouvre ouvrir ouvert ouverts ouvertes abre abrir abierto abiertos abiertas abra aberto abertos abertas
    order: bestelle bestellen commande commander pide encomende
    own: eigene eigenen eigener propre propres propio propia propios propria proprio gehort gehoren appartient pertenece pertenecen pertence pertencem
    paid: bezahlt bezahlte bezahlten gezahlt paye payes payee payees pagado pagada pagadas pagados paga pagas pago pagos
    pay: beglichen bezahle bezahlen zahle zahlen paie payer regle paga pagar pague
    pending: ausstehend ausstehende ausstehenden offenstehend attente pendiente pendientes pendente pendentes
    personal: personliche personlichen personlich personnel personnels personal personales pessoal pessoais
    pin: anheften pinne epingle fija fixe
    point: zeigen richte pointe pointer apunta apuntar aponte apontar
    popular: beliebt beliebteste meistbesucht populaire populares visitadas visitado
    pretend: tue fais finge finja
    preview: vorschau apercu previsualiza vistaprevia visualize previa
    print: drucke imprime imprimer imprimir
    private: privat private prive privee privees privado privada privados
    process: verarbeite verarbeiten traite traiter procesa procesar processe
    protect: schutze schutzen geschutzt protege proteger protegee protegida protegido proteja
    public: offentlich offentliche offentlichen offentlicher public publique publiques publico publica publicos publicas publicamente
    publish: veroffentliche veroffentlichen publie publier publica publicar publique
    react: reagiere reagieren reagis reagir reacciona reaccionar reaja
    read: lese lies lesen lis lire lee leer leia ler
    receive: erhalte erhalten empfange recois recevoir recu recus recibe recibir recibido recibidos receba receber recebido recebidos
    record: erfasse erfassen aufzeichnen enregistre registra registre anote
    redact: schwarze anonymisiere anonymise anonimiza anonimize
    refresh: auffrischen rafraichis rafraichir refresca refrescar
    refund: erstatte erstatten ruckerstatte rembourse rembourser reembolsa reembolsar devuelve reembolse devolva
    register: registriere registrieren enregistrer registra registrar registre
    reject: ablehnen lehne rejette rejeter refuse refuser rechaza rechazar rejeite rejeitar recuse
    remind: erinnere rappelle recuerda lembre
    remove: entferne entfernen nimm wegnehmen streiche entziehe enleve enlever retire retirer ote quita quitar retira retirar remova remover tire tirar
    rename: umbenennen benenne renomme renommer renombra renombrar renomeie renomear
    render: rendere darstellen rends rendre renderiza
    renew: verlangere verlangern erneuere renouvelle renouveler renueva renovar renove
    replace: ersetze ersetzen remplace remplacer reemplaza reemplazar sustituye substitua substituir
    reply: antworte antworten beantworte reponds repondre responde responder responda
    report: melde melden signale signaler reporta reportar reporte
    request: beantrage anfordere demande demander solicita solicitar solicite pide peca
    required: erforderlich erforderliche notwendig pflicht verpflichtend obligatorische requis requise requises obligatoire obligatoires requerido requerida requeridos obligatorio obligatoria obligatorios obrigatorio obrigatoria necessario
    rerun: wiederhole relance relancer repite repetir repita
    resend: nochmals erneut renvoie renvoyer reenvia reenviar reenvie sende schicke
    reset: zurucksetzen reinitialise reinitialiser restablece restablecer redefina
    restore: wiederherstellen stelle wiederhergestellt restaure restaurer retablis restaura restaurar recupera recuperar
    restrict: beschranke beschranken einschranken limitiere begrenze restreins restreindre limite limiter limita limitar restringe restringir restrinja
    resume: fortsetzen setze reprends reprendre reanuda reanudar retome retomar
    return: zuruckgeben zuruckgegeben zuruck retourne retourner renvoye devuelta devuelto devolver devolvida devolvido
    reverse: mache umkehren storniere annule reverte revierte reverta estorna estorne
    revoke: widerrufe widerrufen entziehe entziehen revoque revoquer revoca revocar revogue revogar
    run: starte ausfuhren laufen lance lancer ejecuta execute rode
    save: speichere speichern enregistre enregistrer sauvegarde guarda guardar salve salvar guarde
    scheduled: geplant geplante geplanten planifie planifiee planifiees programado programada programadas agendado agendada agendadas
    search: suche suchen durchsuche cherche chercher recherche busca buscar busque procure procurar pesquise
    selected: ausgewahlt ausgewahlte ausgewahlten selectionne selectionnes seleccionado seleccionados selecionado selecionados
    send: sende senden schicke schicken versende envoie envoyer envia enviar envie mande manda
    set: setze setzen stelle einstellen festlegen definis definir fixe pon poner establece defina ponha configure configura
    share: teile teilen partage partager comparte compartir compartilhe compartilhar
    ship: versende versenden verschicke expedie expedier despacha despache
    signed: signiert signierte unterschrieben signe signes signees firmado firmados firmada assinado assinados assinada
    simulate: simuliere simulieren simule simuler simula simular
    star: favorisiere favorise favorita favorite sternchen etoile
    start: starte starten beginne gestartet demarre demarrer inicia iniciar inicie arranca comeca comece
    stop: stoppe stoppen beende halte anhalten arrete arreter deten detener para parar pare
    submit: einreichen reiche absenden soumets soumettre presenta presentar submeta enviar
    subscribe: abonniere abonnieren abonniert abonne abonner suscribe suscribir assine assinar inscreva
    succeed: gelingt gelungen reussis reussir exito
    suspend: aussetzen suspendiere suspends suspendre suspende suspender suspenda
    sync: synchronisiere synchronise sincroniza sincronizar sincronize
    tag: etikettiere etiquete
    test: teste testen tester prueba probar pruebas testa testar
    transfer: uberweise uberweisen ubertrage transfere transferer vire transfiere transferir transfira
    unblock: entsperre entsperren debloque debloquer desbloquea desbloquear desbloqueie
    unfollow: entfolge
    unlink: desvincula desvincular desvincule
    unlock: entsperre entsperren freischalten deverrouille deverrouiller desbloquea destrave desbloqueie
    upcoming: nachste nachsten kommende bevorstehend prochain prochaine proximo proxima proximos
    update: aktualisiere aktualisieren anpassen passe actualise actualiser maj actualiza actualizar atualize atualizar
    upload: hochladen lade televerse televerser sube subir cargue carregue suba envie
    use: benutze benutzen nutze nutzen verwende utiliser usar usa use
    used: benutzt genutzt verwendet utilise utilisee usado usada
    verify: verifiziere bestatige verifie verifica
    view: ansehen schau anschauen voir vois regarde consulte consulter ver consulta consultar
    visible: sichtbar sichtbarkeit visibles visivel
    void: entwerte ungultig
    vulnerable: verwundbar anfallig vulnerables vulneraveis
    wait: warte wartet attends espera aguarda
    watch: beobachte beobachten beobachtet uberwache surveille surveiller surveillent observa observar vigila observe observam acompanha
    work: arbeite arbeiten travaille travailler trabaja trabajar trabalhe trabalhar
`
