/** Common nouns of API documents in German, French, Spanish and Portuguese → the English words that documents use. It holds no verbs: `foreign-verbs.ts` does. */

/** English word: its translations without accents, plurals too. Where two lines have the same translation, the first one holds. */
export const NOUNS_IN_ENGLISH = `
    access: zugriff zugang acces acceso acesso
    account: konto konten compte comptes cuenta cuentas conta contas
    action: aktionen acciones acoes
    address: adresse adressen direccion direcciones endereco
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
    attachment: anhange piece adjunto anexo
    attempt: versuch versuche tentative tentatives intento intentos tentativa tentativas
    author: autor autoren auteur auteurs autores
    authorization: autorisierung autorisierungen genehmigung autorisation autorisations autorizacion autorizaciones autorizacao autorizacoes
    badge: abzeichen insigne
    balance: guthaben saldo solde soldes saldos
    bank: banque banco bankkonto
    billing: abrechnung facturation facturacion faturamento cobranca
    block: blockiert gesperrt bloque bloques bloqueado bloqueados
    board: tafel tableau tableaux tablero tableros quadro quadros
    branch: zweig zweige branche branches rama ramas ramo
    bug: fehlern bogue defecto
    build: kompilierung compilation compilacion compilacao
    buyer: kaufer acheteur acheteurs comprador compradores
    cache: zwischenspeicher caches
    calculation: berechnung berechnungen calcul calculs calculo calculos
    capability: fahigkeit fahigkeiten capacite capacites capacidad capacidades capacidade
    card: karte karten carte cartes tarjeta tarjetas cartao cartoes
    cardholder: karteninhaber titulaire titular titulares
    cart: warenkorb panier carrito carrinho
    cash: bargeld liquidites efectivo
    category: kategorie kategorien categorie categories categoria categorias
    charge: belastung zahlung debit cargo cargos cobro cobros cobranca cobrancas
    chargeback: ruckbuchung retrofacturation contracargo
    check: prufung prufungen verification controle comprobacion verificacao
    checkout: kasse bezahlvorgang caisse
    clock: uhr horloge reloj relogio
    clone: klone clons clones
    code: quelltext quellcode codigo
    collaborator: mitarbeiter mitwirkende mitwirkender collaborateur collaborateurs colaborador colaboradores
    color: farbe couleur
    column: spalte spalten colonne colonnes columna columnas coluna colunas
    comment: kommentar kommentare commentaire commentaires comentario comentarios
    commit: anderung anderungen
    company: firma firmen unternehmen entreprise empresa empresas societe sociedad sociedade
    conduct: verhalten verhaltenskodex conduite conducta conduta
    configuration: konfiguration konfigurationen configuracoes configuraciones
    content: inhalt inhalte contenu contenus contenido contenidos conteudo conteudos
    contract: vertrag vertrage contrat contrats contrato contratos
    contributor: beitragende beitragender contributeur contributeurs contribuidor contribuidores contribuyente
    conversation: gesprach unterhaltung conversacion
    cost: kosten kost couts cout costo costos coste custo custos
    country: land lander pays pais
    coupon: gutschein gutscheine cupon cupones cupom
    credential: zugangsdaten identifiants credenciales credenciais
    credit: gutschrift gutschriften avoir credito creditos
    currency: wahrung wahrungen devise devises moneda monedas moeda
    custom: benutzerdefiniert eigenes personnalise personnalisee personalizado personalizada
    customer: kunde kunden kundin client clients cliente clientes
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
    directory: verzeichnis verzeichnisse repertoire directorio directorios diretorio
    discount: rabatt rabatte remise remises descuento descuentos desconto
    discussion: diskussion diskussionen discusion discusiones discussao
    dispute: streitfall reklamation litige litiges disputa disputas einspruch anfechtung contestation
    domain: domane domaine domaines dominio dominios
    download: herunterladung telechargement descarga
    email: mail mailadresse courriel courriels correo correos
    employee: angestellte mitarbeiterin employe employes empleado empleados funcionario funcionarios
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
    fraud: betrug betrugs fraude fraudes
    group: gruppe gruppen groupe groupes grupo grupos
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
    installation: installationen installations instalacion instalaciones instalacao instalacoes
    instruction: anleitung anweisung anweisungen instructions instrucciones instrucoes
    interaction: interaktion interaktionen interaccion interacciones interacao interacoes
    internal: intern interne internen interno interna
    inventory: inventar inventaire
    invitation: einladung einladungen invitacion invitaciones convite convites
    invitee: eingeladene eingeladener invites
    invoice: rechnung rechnungen facture factures factura facturas fatura faturas
    issue: fehlerbericht ticket incidencia incidencias
    item: posten artikel element elements elemento elementos
    job: aufgabe tache taches tarea tareas trabajo tarefa tarefas trabalho
    key: schlussel cle cles clave claves llave chave chaves
    label: etikett etiketten etiquette etiquettes etiqueta etiquetas rotulo
    language: sprache sprachen langue langues idioma idiomas linguagem
    license: lizenz lizenzen licence licences licencia licencias licenca
    limit: grenze grenzen limite limites
    line: zeile zeilen ligne lignes linea lineas linha linhas
    link: verknupfung lien liens enlace enlaces vinculo
    list: listen listes listas
    location: standort standorte emplacement lieu ubicacion ubicaciones local
    log: protokoll protokolle journal journaux registro registros
    machine: maschine maschinen maquina maquinas rechner
    manager: leiter verantwortliche gestionnaire gestor gestores
    mandate: mandat mandato
    manifest: manifeste manifiesto
    marketplace: marktplatz marche mercado
    member: mitglied mitglieder membre membres miembro miembros membro membros
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
    note: notiz notizen nota notas
    notification: benachrichtigung benachrichtigungen notificacion notificaciones notificacao avis avisos alertas
    number: nummer nummern anzahl numero numeros
    order: bestellung bestellungen auftrag commande commandes pedido pedidos
    organization: organisation organisationen organizacion organizaciones organizacao
    outbound: ausgehend ausgehende ausgehenden sortant sortante saliente salientes saida
    owner: besitzer eigentumer inhaber proprietaire propietario dono proprietario
    package: paket pakete paquet paquets paquete paquetes pacote pacotes
    page: seite seiten pagina paginas
    password: passwort motdepasse contrasena senha
    path: pfad pfade chemin chemins ruta rutas caminho caminhos
    payment: zahlung zahlungen bezahlung paiement paiements pago pagos pagamento pagamentos
    payout: auszahlung auszahlungen virement versement pagos retiro repasse
    people: leute gens gente
    period: zeitraum periode periodo
    permission: berechtigung berechtigungen recht rechte droits permiso permisos permissao
    person: personen personne personnes persona personas pessoa pessoas
    pet: haustier haustiere tier animal animaux mascota mascotas
    phone: telefon telefonnummer telephone telefono telefone
    plan: tarif tarife forfait plano planos
    policy: richtlinie richtlinien politique politica politicas
    portal: portail
    preference: vorliebe preferencia preferencias
    price: preis preise prix precio precios preco precos
    product: produkt produkte produit produits producto productos produto produtos
    profile: profil profils perfil perfis steckbrief
    project: projekt projekte projet projets proyecto proyectos projeto projetos
    promotion: aktion promocion promociones promocao
    protection: schutz proteccion protecao
    public: offentlich offentliche offentlichen publique publiques publico publicos publica
    purchase: kauf kaufe einkauf einkaufe achat achats compras
    query: abfrage abfragen requetes consultas
    quote: angebot angebote devis cotizacion presupuesto presupuestos orcamento orcamentos
    rate: satz satze taux tasa tasas taxa
    rating: calificacion
    reaction: reaktion reaktionen reaccion reacciones reacao
    reader: lesegerat kartenleser lecteur lector leitor
    readme: liesmich
    reason: grund raison motivo razon
    refund: erstattung erstattungen ruckzahlung remboursement remboursements reembolso reembolsos
    registration: anmeldung registrierung inscription registracion inscricao
    release: veroffentlichung veroffentlichungen lanzamiento lancamento
    reply: antwort antworten reponse reponses respuesta respuestas resposta respostas
    report: bericht berichte rapport rapports informe informes relatorio
    repository: repositorium depot depots repositorio repositorios
    request: anfrage anfragen demande demandes requete solicitud solicitudes solicitacao
    required: pflicht
    result: ergebnis ergebnisse resultat resultats resultado resultados
    revenue: umsatz umsatze ventes ventas vendas receita ingresos
    reversal: storno stornierung annulation reversion estorno
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
    seller: verkaufer handler vendeur vendeurs vendedor vendedores
    server: serveurs servidor servidores
    session: sitzung sitzungen sesion sesiones sessao
    setting: einstellung einstellungen parametre parametres ajuste ajustes configuracion configuracao
    settlement: abwicklung reglement liquidacion liquidacao
    shipping: versand expedition envio envios frete
    signature: signatur unterschrift signatures firma assinatura
    site: webseite website sitio
    size: grosse taille tamano tamanho
    snapshot: momentaufnahme instantane instantanea
    snippet: schnipsel extrait fragmento trecho
    source: quelle quellen sources fuente fuentes fonte fontes origen
    state: bundesland
    statistics: statistik statistiken statistiques estadistica estadisticas estatisticas
    status: zustand stand etat statut estado estados
    stock: bestand lager lagerbestand existencias inventario estoque
    storage: speicher speicherplatz stockage almacenamiento armazenamento
    store: laden geschaft boutique magasin tienda loja
    subject: betreff asunto assunto
    subscription: abonnement abonnements abo abos suscripcion suscripciones assinatura assinaturas
    suite: gruppierung
    summary: zusammenfassung resume resumen resumo
    supplier: lieferant lieferanten fournisseur fournisseurs proveedor proveedores fornecedor
    tag: schlagwort marke etiqueta
    tax: steuer steuern taxe taxes impot impuesto impuestos imposto impostos
    team: mannschaft equipe equipes equipo equipos time
    template: vorlage vorlagen modele modeles plantilla plantillas modelo modelos
    terminal: kassenterminal terminales terminais
    test: testmodus essai prueba pruebas teste
    text: texte texto
    thread: faden fil hilo conversa
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
    type: typ typen types tipo tipos
    unit: einheit einheiten unite unites unidad unidades unidade
    usage: verbrauch nutzung utilisation consommation uso consumo
    user: benutzer nutzer anwender utilisateur utilisateurs usuario usuarios
    value: wert werte valeur valeurs valores
    variable: variablen variables variavel
    version: versionen versiones versao
    visitor: besucher visiteur visiteurs visitante visitantes zugriffe
    vulnerability: schwachstelle schwachstellen sicherheitslucke vulnerabilite vulnerabilites faille vulnerabilidad vulnerabilidades vulnerabilidade
    warehouse: almacen armazem entrepot
    warning: hinweis avertissement advertencia aviso avisos
    webhook: webhooks
    week: woche semaine semana
    word: wort mot palabra palavra
    workflow: arbeitsablauf ablauf flux flujo flujos fluxo
    year: jahr jahre annee annees anos
`
