import { Controller, Get } from '@nestjs/common'
import { HealthCheckService, type HealthCheckResult } from '@nestjs/terminus'
import { PunctualHealth } from 'punctual/nest'

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly punctual: PunctualHealth,
  ) {}

  @Get()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.punctual.check()])
  }
}
