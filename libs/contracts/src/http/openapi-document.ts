import document from '../../openapi.json';

/** Every route of every app, as `npm run generate` wrote it down; a test holds it against the code. */
export const openApiDocument: object = document;
