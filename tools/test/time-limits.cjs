// How much processor time the tests of one file may use, by the kind of the file.
const limits = { pure: 1, database: 5, process: 20, page: 20 };

/** Files that may use more, each with the reason. */
const exceptions = {};

module.exports = { limits, exceptions };
