import { Browser } from '../service/oauth/browser.ts'

/** A browser with a person at it, who signs in: `node agree-in-browser.ts EMAIL PASSWORD URL`. */

const [email = '', password = '', url = ''] = process.argv.slice(2)
const browser = new Browser()
const start = await browser.open(url)
const page = await browser.open(start.url)
const consent = await browser.submit(page, { email, password, decision: 'allow' })
const { url: callback } = await browser.submit(consent, { decision: 'allow' })
await browser.open(callback)
