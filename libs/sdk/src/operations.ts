/** All generated operations and types of the API, for use with `muster.client` or with another client. */
// eslint-disable-next-line no-restricted-syntax -- The generated index lists its exports; a copy would become outdated.
export * from './generated';
export { type Client, createClient, formDataBodySerializer } from './generated/client';
export { client } from './generated/client.gen';
