/** Nonce that the page's Content-Security-Policy requires for styles, from the <meta> element in index.html. */
export function readStyleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
}
