/** Every operation of the API and all of its types, as they are generated, for who brings a client of their own. */
// eslint-disable-next-line no-restricted-syntax -- The generated index lists its exports; a list of them here would be stale.
export * from './generated';
export { type Client, createClient, formDataBodySerializer } from './generated/client';
export { client } from './generated/client.gen';
