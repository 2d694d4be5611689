import document from '../../openapi.json';

/** OpenAPI document of all apps, written by `npm run generate`. A test compares it with the code. */
export const openApiDocument: object = document;
