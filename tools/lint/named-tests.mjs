const reference = /`([\w./-]+\.spec\.ts)`:\s+`([^`]+)`/g;

/**
 * Returns a fault for each test that a page names and that does not exist. A page names a test by the path of its file,
 * or an end of this path that only one file has, and by the test's name: `auth/sessions.spec.ts`: `a sign-in fails …`.
 * @param {string} page path of the Markdown file
 * @param {string} text
 * @param {string[]} files all paths of the repository
 * @param {(file: string) => string} readText
 */
export function findMissingTests(page, text, files, readText) {
  return [...text.matchAll(reference)].flatMap(([, path, wrappedName]) => {
    const name = wrappedName.replaceAll(/\s+/g, ' ');
    const found = files.filter((file) => file === path || file.endsWith(`/${path}`));
    if (found.length !== 1) {
      const problem =
        found.length === 0 ? 'which does not exist' : 'which could be several files: name more of its path';
      return [`${page}: names the tests of ${path}, ${problem}`];
    }
    return hasTest(readText(found[0]), name)
      ? []
      : [`${page}: names the test “${name}”, which ${found[0]} does not have`];
  });
}

/** Whether a test file has a test of this name. A name in a table of tests has placeholders, such as `%s`. */
function hasTest(text, name) {
  return ["'", '"', '`'].some(
    (quote) => text.includes(`(${quote}${name}${quote}`) || isOnOwnLine(text, quote + name + quote),
  );
}

/** A long call has its name on a separate line. */
function isOnOwnLine(text, quotedName) {
  return text.split('\n').some((line) => line.trim() === `${quotedName},`);
}
