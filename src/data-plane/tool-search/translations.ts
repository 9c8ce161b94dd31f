/** Common nouns of API documents in German, French, Spanish and Portuguese → the English words that documents use. It holds no verbs: `actions.ts` does. */
import { isFiller } from './synonyms.ts'
import { wordsOf } from './words.ts'

/** English word: its translations. The words are the most frequent ones of names of operations, not those of certain requests. */
const GLOSSARY = `
    access: zugriff zugang acces acceso acesso
    account: konto konten compte comptes cuenta cuentas conta contas
    address: adresse adressen direccion direcciones endereco
    alert: warnung warnungen alarm alerte alertes alerta alertas
    amount: betrag betrage montant montants importe monto valor
    application: anwendung anwendungen aplicacion aplicaciones aplicativo
    artifact: artefakt artefakte artefact artefacts artefacto artefato
    author: autor autoren auteur auteurs autores
    balance: guthaben saldo solde soldes saldos
    bank: banque banco
    block: blockiert gesperrt bloque bloques bloqueado bloqueados
    branch: zweig zweige branche branches rama ramas ramo
    build: kompilierung compilation compilacion compilacao
    cart: warenkorb panier carrito carrinho
    card: karte karten carte cartes tarjeta tarjetas cartao cartoes
    category: kategorie kategorien categorie categories categoria categorias
    charge: belastung zahlung debit cargo cargos cobro cobros cobranca cobrancas
    check: prufung prufungen verification controle comprobacion verificacao
    code: quelltext quellcode codigo
    comment: kommentar kommentare commentaire commentaires comentario comentarios
    country: land lander pays pais
    coupon: gutschein gutscheine cupon cupones cupom
    credit: gutschrift gutschriften avoir credito creditos
    currency: wahrung wahrungen devise devises moneda monedas moeda
    customer: kunde kunden kundin client clients cliente clientes
    delivery: zustellung lieferung lieferungen livraison livraisons entrega entregas
    deployment: bereitstellung bereitstellungen deploiement deploiements despliegue despliegues implantacao
    description: beschreibung descripcion descricao
    discount: rabatt rabatte remise remises descuento descuentos desconto
    discussion: diskussion diskussionen discusion discusiones discussao
    dispute: streitfall reklamation litige litiges disputa disputas
    environment: umgebung umgebungen environnement environnements entorno entornos ambiente ambientes
    event: ereignis ereignisse evenement evenements evento eventos
    fee: gebuhr gebuhren frais commission commissions comision comisiones tarifa taxa
    file: datei dateien fichier fichiers archivo archivos fichero arquivo arquivos
    follower: folger abonne abonnes seguidor seguidores
    group: gruppe gruppen groupe groupes grupo grupos
    image: bild bilder imagen imagenes imagem
    invitation: einladung einladungen invitacion invitaciones convite convites
    invoice: rechnung rechnungen facture factures factura facturas fatura faturas
    issue: fehlerbericht ticket incidencia incidencias
    item: posten artikel element elements elemento elementos
    key: schlussel cle cles clave claves llave chave chaves
    label: etikett etiketten etiquette etiquettes etiqueta etiquetas rotulo
    language: sprache sprachen langue langues idioma idiomas linguagem
    license: lizenz lizenzen licence licences licencia licencias licenca
    limit: grenze grenzen limite limites
    link: verknupfung lien liens enlace enlaces vinculo
    location: standort standorte emplacement lieu ubicacion ubicaciones local
    member: mitglied mitglieder membre membres miembro miembros membro membros
    message: nachricht nachrichten mensaje mensajes mensagem
    milestone: meilenstein meilensteine jalon jalons hito hitos marco
    name: namen nom noms nombre nombres nome
    notification: benachrichtigung benachrichtigungen notificacion notificaciones notificacao
    order: bestellung bestellungen auftrag commande commandes pedido pedidos
    organization: organisation organisationen organizacion organizaciones organizacao
    package: paket pakete paquet paquets paquete paquetes pacote pacotes
    page: seite seiten pagina paginas
    password: passwort motdepasse contrasena senha
    payment: zahlung zahlungen bezahlung paiement paiements pago pagos pagamento pagamentos
    payout: auszahlung auszahlungen virement versement pagos retiro repasse
    permission: berechtigung berechtigungen recht rechte droits permiso permisos permissao
    person: personen personne personnes persona personas pessoa pessoas
    pet: haustier haustiere tier animal animaux mascota mascotas
    plan: tarif tarife forfait abonnement plano planos
    price: preis preise prix precio precios preco precos
    product: produkt produkte produit produits producto productos produto produtos
    project: projekt projekte projet projets proyecto proyectos projeto projetos
    promotion: aktion promocion promociones promocao
    protection: schutz proteccion protecao
    public: offentlich offentliche offentlichen publique publiques publico publicos publica
    quote: angebot angebote devis cotizacion presupuesto presupuestos orcamento orcamentos
    reaction: reaktion reaktionen reaccion reacciones reacao
    reader: lesegerat kartenleser lecteur lector leitor
    refund: erstattung erstattungen ruckzahlung remboursement remboursements reembolso reembolsos
    release: veroffentlichung veroffentlichungen lanzamiento lancamento
    report: bericht berichte rapport rapports informe informes relatorio
    repository: repositorium depot depots repositorio repositorios
    request: anfrage anfragen demande demandes requete solicitud solicitudes solicitacao
    review: bewertung bewertungen revision avis resena resenas revisao avaliacao
    reversal: storno stornierung annulation reversion estorno
    rule: regel regeln regle regles regla reglas regra
    run: lauf laufe ausfuhrung execution executions ejecucion ejecuciones execucao
    runner: laufer agent
    schedule: zeitplan zeitplane calendrier calendriers calendario calendarios cronograma
    secret: geheimnis geheimnisse secrete secreto secretos segredo segredos
    session: sitzung sitzungen sesion sesiones sessao
    setting: einstellung einstellungen parametre parametres ajuste ajustes configuracion configuracao
    shipping: versand expedition envio envios frete
    status: zustand stand etat statut estado estados
    stock: bestand lager lagerbestand existencias inventario estoque
    store: laden geschaft boutique magasin tienda loja
    subscription: abonnement abonnements abo abos suscripcion suscripciones assinatura assinaturas
    supplier: lieferant lieferanten fournisseur fournisseurs proveedor proveedores fornecedor
    tax: steuer steuern taxe taxes impot impuesto impuestos imposto impostos
    team: mannschaft equipe equipes equipo equipos time
    topic: thema themen sujet sujets tema temas
    transaction: transaktion transaktionen buchung transaccion transacciones transacao
    transfer: uberweisung uberweisungen transfert transferencia transferencias
    user: benutzer nutzer anwender utilisateur utilisateurs usuario usuarios
    variable: variablen variables variavel
    version: versionen versiones versao
    workflow: arbeitsablauf ablauf flux flujo flujos fluxo
`
/** Words of these languages that say nothing about a tool. */
const FOREIGN_FILLERS = new Set(
  wordsOf(`der die das den dem des ein eine einen einem einer eines von vom mit fur fuer im am auf zu zum zur und oder ist sind war gibt es
    ich wir mir mich uns unser unsere unseren unserer mein meine meinen dieser diese dieses diesem diesen alle alles bitte kann man nicht mehr
    le la les un une du au aux et ou est sont ce cet cette ces mon ma mes nos notre votre dans pour par sur avec sans que qui je moi nous
    el los las una uno del al y o es son mi mis este esta esto estos nuestro nuestra nuestros en con sin para por se que ha han
    os as um uma do da dos das no na nos nas em e meu minha meus nosso nossa com sem temos esta sao`).filter(
    word => !wordsOf('is as do no am time para die man').includes(word),
  ),
)

const ENGLISH = new Map<string, string>()
for (const line of GLOSSARY.trim().split('\n')) {
  const [english, others] = line.split(':') as [string, string]
  const [word] = wordsOf(english) as [string]
  for (const other of wordsOf(others)) if (!ENGLISH.has(other)) ENGLISH.set(other, word)
}

/** Whether more of the small words are German, French, Spanish or Portuguese than English: many words are spelled alike. */
export function isForeign(words: readonly string[]): boolean {
  let foreign = 0
  for (const word of words) {
    if (FOREIGN_FILLERS.has(word)) foreign++
    else if (isFiller(word)) foreign--
  }
  return foreign > 0
}

/** The words of such a request in English where they have a translation. */
export function inEnglish(words: readonly string[]): string[] {
  return words.filter(word => !FOREIGN_FILLERS.has(word)).map(word => ENGLISH.get(word) ?? word)
}
