import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { StorageModule } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { OrganizationsController } from './admin/organizations.controller';
import { QueuesController } from './admin/queues.controller';
import { AuthController } from './auth/auth.controller';
import { Bootstrap } from './bootstrap';
import { DocsController } from './docs/docs.controller';
import { HealthController } from './health/health.controller';
import { ApiKeysController } from './organization/api-keys.controller';
import { AuditController } from './organization/audit.controller';
import { OrganizationController } from './organization/organization.controller';
import { UsersController } from './organization/users.controller';
import { VaultController } from './organization/vault.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, StorageModule],
  controllers: [
    HealthController,
    AuthController,
    OrganizationController,
    UsersController,
    ApiKeysController,
    VaultController,
    AuditController,
    OrganizationsController,
    QueuesController,
    DocsController,
  ],
  providers: [Bootstrap],
})
export class GatewayModule {}
