import { GenericContainer, Wait } from 'testcontainers';

/** Starts the two servers as containers, if a Docker engine is available: MUSTER_TEST_CONTAINERS=true npm test. */
export async function startContainers() {
  const password = 'test';
  const [postgres, redis] = await Promise.all([
    new GenericContainer('postgres:17')
      .withEnvironment({ POSTGRES_USER: 'muster', POSTGRES_PASSWORD: password, POSTGRES_DB: 'muster' })
      .withCommand(['postgres', '-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'max_connections=200'])
      .withExposedPorts(5432)
      // The image starts the server twice: first to create the database, then to serve.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
      .start(),
    new GenericContainer('redis:7')
      .withCommand(['redis-server', '--save', '', '--maxmemory-policy', 'noeviction'])
      .withExposedPorts(6379)
      .start(),
  ]);
  const databaseAddress = `${postgres.getHost()}:${postgres.getMappedPort(5432)}`;
  return {
    databaseUrl: `postgres://muster:${password}@${databaseAddress}/muster`,
    redisUrl: `redis://${redis.getHost()}:${redis.getMappedPort(6379)}`,
    stop: async () => {
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}
