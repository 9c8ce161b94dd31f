/** English words of API documents, mostly nouns, with German, French, Spanish and Portuguese words for them. `translations.ts` reads the table. */

/** English word: its translations without accents, plurals too. Where two lines have the same translation, the first one holds. */
export const NOUNS_IN_ENGLISH = `
    access: zugriff zugang acces acceso acesso
    account: konto konten compte comptes cuenta cuentas conta contas
    action: aktionen acciones acoes
    activity: aktivitat aktivitaten activite activites actividad actividades atividade atividades
    address: adresse adressen direccion direcciones endereco anschrift anschriften lieferadresse
    admin: administrator verwalter administrateur administrador
    alert: warnung warnungen alarm alerte alertes alerta alertas
    amount: betrag betrage montant montants importe monto valor
    analysis: analyse analysen analyses analisis analise analises
    annotation: anmerkung anmerkungen anotacion anotacao
    app: app apps
    application: anwendung anwendungen aplicacion aplicaciones aplicativo
    approval: genehmigung freigabe approbation aprobacion aprovacao
    archive: archiv archives archivado arquivamento
    artifact: artefakt artefakte artefact artefacts artefacto artefato
    asset: anlage anhang
    assignee: zustandiger zustandige bearbeiter assigne assignes responsable responsables encargado responsavel responsaveis
    associated: zugehorige zugehorigen dazugehorige associe associes asociado asociados associado associados
    attachment: anhange piece adjunto anexo
    attempt: versuch versuche tentative tentatives intento intentos tentativa tentativas
    author: autor autoren auteur auteurs autores
    authorization: autorisierung autorisierungen genehmigung autorisation autorisations autorizacion autorizaciones autorizacao autorizacoes
    badge: abzeichen insigne
    balance: guthaben saldo solde soldes saldos
    bank: banque banco bankkonto
    billing: abrechnung facturation facturacion faturamento cobranca
    blob: blobs
    block: blockiert gesperrt bloque bloques bloqueado bloqueados
    board: tafel tableau tableaux tablero tableros quadro quadros
    branch: zweig zweige branche branches rama ramas ramo
    bug: fehlern bogue defecto
    build: kompilierung compilation compilacion compilacao
    buyer: kaufer acheteur acheteurs comprador compradores
    cache: zwischenspeicher caches
    calculation: berechnung berechnungen calcul calculs calculo calculos
    capability: fahigkeit fahigkeiten capacite capacites capacidad capacidades capacidade
    card: karte karten carte cartes tarjeta tarjetas cartao cartoes kreditkarte kreditkarten bankkarte debitkarte firmenkarte zahlungskarte
    cardholder: karteninhaber titulaire titular titulares
    cart: warenkorb panier carrito carrinho
    cash: bargeld liquidites efectivo
    category: kategorie kategorien categorie categories categoria categorias
    charge: belastung zahlung debit cargo cargos cobro cobros cobranca cobrancas
    chargeback: ruckbuchung retrofacturation contracargo
    check: prufung prufungen verification controle comprobacion verificacao
    checkout: kasse bezahlvorgang caisse
    child: untergeordnet untergeordnete untergeordneten unterteam unterteams enfant enfants sous hijo hijos filho filhos
    claim: anspruch anspruche
    clock: uhr horloge reloj relogio
    clone: klone clons clones
    code: quelltext quellcode codigo
    collaborator: mitarbeiter mitwirkende mitwirkender collaborateur collaborateurs colaborador colaboradores
    color: farbe couleur
    column: spalte spalten colonne colonnes columna columnas coluna colunas projektspalte
    comment: kommentar kommentare commentaire commentaires comentario comentarios kommentars
    commit: anderung anderungen
    community: gemeinschaft communaute comunidad comunidade
    company: firma firmen unternehmen entreprise empresa empresas societe sociedad sociedade
    conduct: verhalten verhaltenskodex conduite conducta conduta benimmregeln
    configuration: konfiguration konfigurationen configuracoes configuraciones
    connection: verbindung verbindungen connexion connexions conexion conexiones conexao conexoes
    content: inhalt inhalte contenu contenus contenido contenidos conteudo conteudos
    contract: vertrag vertrage contrat contrats contrato contratos
    contributor: beitragende beitragender contributeur contributeurs contribuidor contribuidores contribuyente
    conversation: gesprach unterhaltung conversacion
    conversion: umrechnung conversao
    cost: kosten kost couts cout costo costos coste custo custos
    country: land lander pays pais
    coupon: gutschein gutscheine cupon cupones cupom
    credential: zugangsdaten identifiants credenciales credenciais
    credit: gutschrift gutschriften avoir credito creditos
    currency: wahrung wahrungen devise devises moneda monedas moeda
    custom: benutzerdefiniert eigenes personnalise personnalisee personalizado personalizada
    customer: kunde kunden kundin client clients cliente clientes kundschaft
    database: datenbank datenbanken bases banco
    date: datum echeance fecha
    day: tage jour jours dia dias
    deadline: frist termin delai plazo prazo
    debit: lastschrift prelevement debito debitos
    delivery: zustellung lieferung lieferungen livraison livraisons entrega entregas
    dependency: abhangigkeit abhangigkeiten dependance dependances dependencia dependencias
    deployment: bereitstellung bereitstellungen deploiement deploiements despliegue despliegues implantacao
    description: beschreibung descripcion descricao
    detail: einzelheiten angaben details detalle detalles detalhe detalhes
    device: gerat gerate appareil dispositivo dispositivos aparelho
    diff: unterschied unterschiede difference differences diferencia diferencias diferenca diferencas
    director: geschaftsfuhrer
    directory: verzeichnis verzeichnisse repertoire directorio directorios diretorio
    discount: rabatt rabatte remise remises descuento descuentos desconto
    discussion: diskussion diskussionen discusion discusiones discussao
    display: anzeige bildschirm ecran afficheur pantalla tela visor
    dispute: streitfall reklamation litige litiges disputa disputas einspruch anfechtung contestation
    domain: domane domaine domaines dominio dominios
    download: herunterladung telechargement descarga
    email: mail mailadresse courriel courriels correo correos
    emoji: emojis
    employee: angestellte mitarbeiterin employe employes empleado empleados funcionario funcionarios mitarbeitern angestellten empregado empregados
    endpoint: endpunkt endpunkte
    enterprise: konzern grande groupe
    entry: eintrag eintrage entree ecriture entrada entradas lancamento lancamentos asiento
    environment: umgebung umgebungen environnement environnements entorno entornos ambiente ambientes
    error: fehler erreur erreurs erro erros errores
    event: ereignis ereignisse evenement evenements evento eventos
    exchange: wechselkurs wechselkurse umtausch change cambio
    export: ausfuhr exportation exportacion exportacao
    external: extern externe externen externo externa
    failure: fehlschlag misserfolg fracaso falha falhas
    feature: funktion funktionen fonctionnalite fonctionnalites funcion funciones funcionalidad recurso recursos
    fee: gebuhr gebuhren frais commission commissions comision comisiones tarifa taxa
    feed: nachrichtenstrom flux
    feedback: ruckmeldung retour comentarios
    file: datei dateien fichier fichiers archivo archivos fichero arquivo arquivos
    financial: finanziell finanzielle financier financiers financiere financieras financieros financeiro financeiros
    folder: ordner dossier dossiers carpeta carpetas pasta pastas
    follower: folger abonne abonnes seguidor seguidores
    fork: abspaltung bifurcacion
    form: formular formulare formulaire formulaires formulario formularios
    fraud: betrug betrugs fraude fraudes
    frequency: haufigkeit frequence frecuencia frequencia
    fund: mittel fonds fondos fundos
    group: gruppe gruppen groupe groupes grupo grupos
    head: spitze tete cabeza cabeca
    health: gesundheit sante salud saude
    heart: herz coeur corazon coracao
    history: verlauf geschichte historie historique historial historico
    holder: halter porteur portador
    hook: haken
    hour: stunde stunden heure heures hora horas
    identity: identitat ausweis identite identidad identidade
    image: bild bilder imagen imagenes imagem
    import: einfuhr importation importacion importacao
    inbound: eingehend eingehende eingehenden entrant entrante entrantes
    increment: erhohung
    information: auskunft infos informationen informations informacion informaciones informacao informacoes info
    installation: installationen installations instalacion instalaciones instalacao instalacoes
    instruction: anleitung anweisung anweisungen instructions instrucciones instrucoes uberweisungsdaten
    interaction: interaktion interaktionen interaccion interacciones interacao interacoes
    internal: intern interne internen interno interna
    inventory: inventar inventaire
    invitation: einladung einladungen invitacion invitaciones convite convites
    invitee: eingeladene eingeladener invites
    invoice: rechnung rechnungen facture factures factura facturas fatura faturas rechnungsentwurf
    issue: fehlerbericht ticket incidencia incidencias
    item: posten artikel element elements elemento elementos rechnungsposten
    job: aufgabe tache taches tarea tareas trabajo tarefa tarefas trabalho
    key: schlussel cle cles clave claves llave chave chaves
    label: etikett etiketten etiquette etiquettes etiqueta etiquetas rotulo
    language: sprache sprachen langue langues idioma idiomas linguagem
    large: gross grosse grossen grand grands grandes gros
    level: stufe stufen niveau niveaux nivel niveles niveis ebene
    license: lizenz lizenzen licence licences licencia licencias licenca
    limit: grenze grenzen limite limites
    line: zeile zeilen ligne lignes linea lineas linha linhas
    link: verknupfung lien liens enlace enlaces vinculo
    list: listen listes listas
    location: standort standorte emplacement lieu ubicacion ubicaciones local
    log: protokoll protokolle journal journaux registro registros
    login: anmeldename identifiant
    machine: maschine maschinen maquina maquinas rechner
    manager: leiter verantwortliche gestionnaire gestor gestores
    mandate: mandat mandato
    manifest: manifeste manifiesto
    markdown: 
    marketplace: marktplatz marche mercado
    member: mitglied mitglieder membre membres miembro miembros membro membros
    membership: mitgliedschaft mitgliedschaften adhesion adhesions membresia membresias pertenencia associacao
    merchant: comerciante lojista commercant
    message: nachricht nachrichten mensaje mensajes mensagem
    metadata: metadaten metadonnees metadatos metadados
    method: methode methoden zahlungsmittel zahlungsmethode methodes moyen moyens metodo metodos
    metric: kennzahl kennzahlen metriques metricas
    migration: migrationen umzug migrations migracion migraciones migracao
    milestone: meilenstein meilensteine jalon jalons hito hitos marco
    minute: minuten minutos
    money: geld argent dinero dinheiro
    month: monat monate mois meses
    name: namen nom noms nombre nombres nome
    note: notiz notizen nota notas versionshinweise
    notification: benachrichtigung benachrichtigungen notificacion notificaciones notificacao avis avisos alertas
    number: nummer nummern anzahl numero numeros kennnummer steuernummer
    order: bestellung bestellungen auftrag commande commandes pedido pedidos
    organization: organisation organisationen organizacion organizaciones organizacao
    outbound: ausgehend ausgehende ausgehenden sortant sortante saliente salientes saida
    outside: aussenstehende aussenstehenden exterieur exterieurs externos externas
    owner: besitzer eigentumer inhaber proprietaire propietario dono proprietario
    package: paket pakete paquet paquets paquete paquetes pacote pacotes
    page: seite seiten pagina paginas
    participation: beteiligung participacion participacao teilnahme
    password: passwort motdepasse contrasena senha
    path: pfad pfade chemin chemins ruta rutas caminho caminhos
    payment: zahlung zahlungen bezahlung paiement paiements pago pagos pagamento pagamentos
    payout: auszahlung auszahlungen virement versement pagos retiro repasse uberweisungen
    people: leute gens gente
    period: zeitraum periode periodo
    permission: berechtigung berechtigungen recht rechte droits permiso permisos permissao
    person: personen personne personnes persona personas pessoa pessoas gesellschafter actionnaire accionista acionista
    pet: haustier haustiere tier animal animaux mascota mascotas
    phone: telefon telefonnummer telephone telefono telefone
    ping: pingen
    place: ort orte endroit lugar
    plan: tarif tarife forfait plano planos
    policy: richtlinie richtlinien politique politica politicas
    popular: beliebteste meistgenutzt populaire
    portal: portail
    preference: vorliebe preferencia preferencias
    price: preis preise prix precio precios preco precos
    primary: hauptadresse haupt principal principale principaux principales principais
    product: produkt produkte produit produits producto productos produto produtos
    profile: profil profils perfil perfis steckbrief
    project: projekt projekte projet projets proyecto proyectos projeto projetos projektboard
    promotion: aktion promocion promociones promocao
    protection: schutz proteccion protecao
    public: offentlich offentliche offentlichen publique publiques publico publicos publica
    purchase: kauf kaufe einkauf einkaufe achat achats compras
    purpose: zweck zwecke objet proposito finalidade
    push: pushen pousser
    query: abfrage abfragen requetes consultas
    quote: angebot angebote devis cotizacion presupuesto presupuestos orcamento orcamentos
    range: bereich plage rango intervalo
    rate: satz satze taux tasa tasas taxa steuersatz steuersatze wechselkurs
    rating: calificacion
    reaction: reaktion reaktionen reaccion reacciones reacao
    reader: lesegerat kartenleser lecteur lector leitor
    readme: liesmich
    reason: grund raison motivo razon
    ref: referenz referenzen reference references referencia referencias
    referrer: herkunft provenance procedencia origem
    refund: erstattung erstattungen ruckzahlung remboursement remboursements reembolso reembolsos
    registration: anmeldung registrierung inscription registracion inscricao
    release: veroffentlichung veroffentlichungen lanzamiento lancamento versionshinweis
    reply: antwort antworten reponse reponses respuesta respuestas resposta respostas
    report: bericht berichte rapport rapports informe informes relatorio
    repository: repositorium depot depots repositorio repositorios
    request: anfrage anfragen demande demandes requete solicitud solicitudes solicitacao
    required: pflicht
    restriction: einschrankung einschrankungen beschrankung beschrankungen restrictions restriccion restricciones restricao restricoes
    result: ergebnis ergebnisse resultat resultats resultado resultados
    revenue: umsatz umsatze ventes ventas vendas receita ingresos
    reversal: storno stornierung annulation reversion estorno ruckbuchungen annulations reversiones estornos
    review: bewertung bewertungen revision avis resena resenas revisao avaliacao
    reviewer: prufer relecteur revisor revisores
    revision: fassung fassungen
    role: rolle rollen roles papel
    rule: regel regeln regle regles regla reglas regra
    run: lauf laufe ausfuhrung execution executions ejecucion ejecuciones execucao
    runner: laufer agent
    sale: verkauf verkaufe
    scanning: scan scans escaneo analisis varredura escaneamento
    schedule: zeitplan zeitplane calendrier calendriers calendario calendarios cronograma
    scope: umfang portee alcance escopo
    secret: geheimnis geheimnisse secrete secreto secretos segredo segredos
    security: sicherheit securite seguridad seguranca
    self: selbst soi meme propio mismo
    seller: verkaufer handler vendeur vendeurs vendedor vendedores
    server: serveurs servidor servidores
    session: sitzung sitzungen sesion sesiones sessao
    setting: einstellung einstellungen parametre parametres ajuste ajustes configuracion configuracao
    settlement: abwicklung reglement liquidacion liquidacao
    setup: einrichtung
    shipping: versand expedition envio envios frete
    signature: signatur unterschrift signatures firma assinatura signaturen
    site: webseite website sitio
    size: grosse taille tamano tamanho
    snapshot: momentaufnahme instantane instantanea
    snippet: schnipsel extrait fragmento trecho
    source: quelle quellen sources fuente fuentes fonte fontes origen zahlungsquelle
    state: bundesland
    statistics: statistik statistiken statistiques estadistica estadisticas estatisticas
    status: zustand stand etat statut estado estados
    stock: bestand lager lagerbestand existencias inventario estoque
    storage: speicher speicherplatz stockage almacenamiento armazenamento
    store: laden geschaft boutique magasin tienda loja
    subject: betreff asunto assunto
    subscriber: abonnent abonnenten abonnes suscriptor suscriptores assinante assinantes inscritos
    subscription: abonnement abonnements abo abos suscripcion suscripciones assinatura assinaturas
    suite: gruppierung suiten
    summary: zusammenfassung resume resumen resumo
    supplier: lieferant lieferanten fournisseur fournisseurs proveedor proveedores fornecedor
    tag: schlagwort marke etiqueta
    tax: steuer steuern taxe taxes impot impuesto impuestos imposto impostos umsatzsteuer mehrwertsteuer mwst tva iva
    team: mannschaft equipe equipes equipo equipos time
    template: vorlage vorlagen modele modeles plantilla plantillas modelo modelos
    terminal: kassenterminal terminales terminais
    test: testmodus essai prueba pruebas teste
    text: texte texto
    thread: faden fil hilo conversa gesprachsfaden
    ticket: billet entrada
    timeline: zeitachse chronologie cronologia
    title: titel titre titulo
    token: jetons jeton zugriffstoken
    top: spitze
    topic: thema themen sujet sujets tema temas
    topup: aufladung aufladungen recharge recharges recarga recargas
    traffic: verkehr besuche trafic trafico trafego
    transaction: transaktion transaktionen buchung transaccion transacciones transacao
    transfer: uberweisung uberweisungen transfert transferencia transferencias
    treasury: schatz tresorerie tesoreria tesouraria
    tree: baum arbre arbol arvore
    type: typ typen types tipo tipos
    unit: einheit einheiten unite unites unidad unidades unidade
    usage: verbrauch nutzung utilisation consommation uso consumo
    user: benutzer nutzer anwender utilisateur utilisateurs usuario usuarios
    username: benutzername nutzername pseudo nutzernamen
    value: wert werte valeur valeurs valores
    variable: variablen variables variavel variaveis
    verification: verifizierung uberprufung verifications verificacion verificaciones verificacoes
    version: versionen versiones versao
    visibility: sichtbarkeit visibilite visibilidad visibilidade
    visitor: besucher visiteur visiteurs visitante visitantes zugriffe
    vulnerability: schwachstelle schwachstellen sicherheitslucke vulnerabilite vulnerabilites faille vulnerabilidad vulnerabilidades vulnerabilidade
    warehouse: almacen armazem entrepot
    warning: hinweis avertissement advertencia aviso avisos
    watcher: beobachter observateur observateurs observador observadores
    webhook: webhooks
    week: woche semaine semana
    word: wort mot palabra palavra
    workflow: arbeitsablauf ablauf flux flujo flujos fluxo
    year: jahr jahre annee annees anos
`
