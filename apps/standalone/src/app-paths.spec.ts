import { MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { openApiDocument, findOwnerApp, type ServiceApp } from '@muster/contracts';
import { DispatcherModule } from '@muster/dispatcher';
import { FeedbackSyncModule } from '@muster/feedback-sync';
import { GatewayModule } from '@muster/gateway';
import { IngestModule } from '@muster/ingest';
import { MeteringModule } from '@muster/metering';
import { SchedulerModule } from '@muster/scheduler';

type Class = abstract new (...args: never[]) => object;

const apps: Record<ServiceApp, Class> = {
  gateway: GatewayModule,
  ingest: IngestModule,
  dispatcher: DispatcherModule,
  scheduler: SchedulerModule,
  metering: MeteringModule,
  'feedback-sync': FeedbackSyncModule,
};

/** Returns the paths of a module's controllers, including the controllers of the modules that it imports. */
function listModulePaths(module: Class): string[] {
  const readModuleMetadata = (key: string) => (Reflect.getMetadata(key, module) ?? []) as Class[];
  const imported = readModuleMetadata(MODULE_METADATA.IMPORTS).filter((each) => typeof each === 'function');
  return [
    ...imported.flatMap(listModulePaths),
    ...readModuleMetadata(MODULE_METADATA.CONTROLLERS).flatMap(listControllerRoutes),
  ];
}

function listControllerRoutes(controller: Class): string[] {
  const prefixes = listOf(Reflect.getMetadata(PATH_METADATA, controller));
  const methods = Object.getOwnPropertyNames(controller.prototype).filter((name) => name !== 'constructor');
  return methods.flatMap((name) => {
    const handler = Object.getOwnPropertyDescriptor(controller.prototype, name)?.value as object | undefined;
    const path = handler && (Reflect.getMetadata(PATH_METADATA, handler) as string | string[] | undefined);
    if (path === undefined) return [];
    return prefixes.flatMap((prefix) => listOf(path).map((each) => joinPathParts(prefix, each)));
  });
}

const listOf = (path: string | string[]) => (Array.isArray(path) ? path : [path]);
const joinPathParts = (...parts: string[]) => `/${parts.flatMap((part) => part.split('/').filter(Boolean)).join('/')}`;

describe('the table of API paths', () => {
  const served = Object.entries(apps).flatMap(([app, module]) =>
    listModulePaths(module).map((path) => ({ app, path })),
  );

  it('the table of API paths assigns each path to the app that serves it', () => {
    const elsewhere = served.filter(({ app, path }) => findOwnerApp(path.replaceAll(/:\w+/g, 'x')) !== app);
    expect(elsewhere).toEqual([]);
  });

  it('each documented route is served by an app', () => {
    const servedPaths = new Set(served.map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}')));
    const documented = Object.keys((openApiDocument as { paths: object }).paths);
    expect(documented.filter((path) => !servedPaths.has(path))).toEqual([]);
    expect(documented.length).toBeGreaterThan(50);
  });
});
