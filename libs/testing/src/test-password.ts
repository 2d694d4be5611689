/** Every test account's. */
export const testPassword = 'correct horse battery';
