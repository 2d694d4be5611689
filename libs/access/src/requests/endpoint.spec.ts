import { resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(__dirname, '../../../..');
const file = resolve(__dirname, 'routes-of-the-test.ts');

/** The source text of a controller with one route. */
const writeControllerSource = (declared: string, method: string) => `
  import { anyone, Endpoint, type MutationRequest, type Mutations } from '@muster/access';
  class Job { id!: string; progress?: number }
  class Batch { rows!: number }
  class Jobs {
    constructor(private readonly mutations: Mutations) {}

    @Endpoint({ summary: 'A route', access: anyone${declared} })
    ${method}
  }
  export const all = [Jobs, Batch, Job, {} as MutationRequest];
`;

const right: Record<string, [declared: string, method: string]> = {
  'the declared class': [', answer: Job', `async read(): Promise<Job> { return { id: '1' }; }`],
  'the declared class without a promise': [', answer: Job', `read(id: string): Job { return { id, progress: 3 }; }`],
  'the declared class of a mutation': [
    ', answer: Job, status: 201',
    `make(mutation: MutationRequest): Promise<Job> {
       return this.mutations.runMutation(mutation, async () => ({ body: { id: '1' }, location: '/jobs/1' }));
     }`,
  ],
  'either of two declared classes': [
    `, answer: Job, otherwise: { status: 202, description: 'Many', answer: Batch }`,
    `async read(many: boolean): Promise<Job | Batch> { return many ? { rows: 2 } : { id: '1' }; }`,
  ],
  nothing: [', status: 204', 'async drop(id: string): Promise<void> { await Promise.resolve(id); }'],
  'nothing from a mutation': [
    ', status: 204',
    `drop(mutation: MutationRequest): Promise<void> {
       return this.mutations.runMutation(mutation, async () => ({ body: undefined }));
     }`,
  ],
};

const wrong: Record<string, [declared: string, method: string]> = {
  'another class': [', answer: Job', `async read(): Promise<Batch> { return { rows: 2 }; }`],
  'another class without a promise': [', answer: Job', `read(): Batch { return { rows: 2 }; }`],
  'an unknown type': [', answer: Job', `async read(): Promise<unknown> { return { id: '1' }; }`],
  'a renamed field': [', answer: Job', `async read() { return { jobId: '1' }; }`],
  'a field of another type': [', answer: Job', `async read() { return { id: '1', progress: 'half' }; }`],
  'another class from a mutation': [
    ', answer: Job',
    `make(mutation: MutationRequest) {
       return this.mutations.runMutation(mutation, async () => ({ body: { rows: 2 } }));
     }`,
  ],
  'nothing although a class is declared': [', answer: Job', 'async read(): Promise<void> {}'],
  'a class although none is declared': [', status: 204', `async read(): Promise<Job> { return { id: '1' }; }`],
  'a third class besides two': [
    `, answer: Job, otherwise: { status: 202, description: 'Many', answer: Batch }`,
    `async read() { return { name: 'neither' }; }`,
  ],
};

describe('the method of a route', () => {
  const { config } = ts.readConfigFile(resolve(root, 'tsconfig.base.json'), (name) => ts.sys.readFile(name)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  let program: ts.Program | undefined;

  const diagnosticsOf = (text: string): string[] => {
    const read = host.getSourceFile.bind(host);
    const overlayHost: ts.CompilerHost = {
      ...host,
      fileExists: (name) => name === file || host.fileExists(name),
      getSourceFile: (name, target) =>
        name === file ? ts.createSourceFile(name, text, target) : (program?.getSourceFile(name) ?? read(name, target)),
    };
    program = ts.createProgram({ rootNames: [file], options, host: overlayHost, oldProgram: program });
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start }) => {
        const line = text.slice(text.lastIndexOf('\n', start) + 1).split('\n')[0]!;
        return `${line.trim()} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
      },
    );
  };

  it.each(Object.keys(right))('the handler method of a route may return %s', (name) => {
    expect(diagnosticsOf(writeControllerSource(...right[name]!))).toEqual([]);
  });

  it.each(Object.keys(wrong))('the handler method of a route does not compile if it returns %s', (name) => {
    const faults = diagnosticsOf(writeControllerSource(...wrong[name]!));
    expect(faults).toEqual([expect.stringMatching(/^@Endpoint\(.*Unable to resolve signature of method decorator/)]);
  });
});
