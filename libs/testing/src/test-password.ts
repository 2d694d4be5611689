/** Password of every test account. */
export const testPassword = 'correct horse battery';
