// How many seconds the tests of one file may take, by the kind of file that it is: what it used while it ran.
const limits = { pure: 1, database: 3, process: 15, page: 15 };

/** Files that may take longer, each with its own limit. */
const exempt = {};

module.exports = { limits, exempt };
