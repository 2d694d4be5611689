/** The client that libs/sdk generates from the OpenAPI document. */
// eslint-disable-next-line no-restricted-syntax -- The generated index lists its exports; a list of them here would be stale.
export * from '@muster/sdk/operations';
